import Contract
import WhisperClient

/// Writes events.
enum EventText {
    /// - Returns: `nil` for live conversations and rooms, whose events have functions of their own.
    static func event(_ event: ClientEvent, number: Int64? = nil, account: WhisperID?) -> [UInt8]? {
        var json = JSONWriter()
        switch event {
        case .connection(let status):
            json.add("type", "connection")
            Self.write(status, &json)
        case .caughtUp: json.add("type", "caughtUp")
        case .received(let message):
            json.add("type", "messageReceived")
            json.add("message", object: message) { Shapes.write($0, &$1) }
            if message.isSilent { json.add("isSilent", true) }
        case .changed(let message):
            json.add("type", "messageChanged")
            json.add("message", object: message) { Shapes.write($0, &$1) }
        case .contact(let contact):
            json.add("type", "contactChanged")
            json.add("contact", object: contact) { Shapes.write($0, &$1) }
        case .request(let contact):
            json.add("type", "requestReceived")
            json.add("contact", object: contact) { Shapes.write($0, &$1) }
        case .group(let group, let change):
            json.add("type", "groupChanged")
            json.add("group", object: group) { Shapes.write($0, &$1) }
            if let actor = change.actor { json.add("actor", actor) }
            json.add("added", strings: change.added.map { "\($0)" })
            json.add("removed", strings: change.removed.map { "\($0)" })
        case .restored(let added, let missing):
            json.add("type", "backup")
            json.add("state", "restored")
            json.add("added", Int64(added))
            json.add("missing", Int64(missing))
        case .backup(let news):
            json.add("type", "backup")
            Self.write(news, &json)
        case .alarm(let alarm):
            json.add("type", "alarm")
            Self.write(alarm, &json)
        case .passing(let news): Self.write(news, &json)
        case .live, .room: return nil
        }
        return Self.envelope(json.finished(), number: number, account: account)
    }

    static func event(_ event: ConsumedEvent, account: WhisperID?) -> [UInt8]? {
        switch event {
        case .event(let event, let number): return Self.event(event, number: number, account: account)
        case .lost(let numbers):
            var json = JSONWriter()
            json.add("type", "eventsLost")
            json.add("count", numbers.upperBound - numbers.lowerBound + 1)
            json.add("from", numbers.lowerBound)
            json.add("to", numbers.upperBound)
            return Self.envelope(json.finished(), number: numbers.upperBound, account: account)
        }
    }

    /// Another program reads for the consumer from here on.
    static let taken: [UInt8] = {
        var json = JSONWriter()
        json.add("type", "taken")
        return Self.envelope(json.finished(), number: nil, account: nil)
    }()

    /// Events of now had no room.
    static func lost(_ count: Int64) -> [UInt8] {
        var json = JSONWriter()
        json.add("type", "eventsLost")
        json.add("count", count)
        return Self.envelope(json.finished(), number: nil, account: nil)
    }

    /// The event `answer`: the outcome of a request to the server.
    /// - Parameter outcome: the members `result` or `error`.
    static func answer(
        _ request: Int64, verb: String, _ outcome: Outcome, corrID: String?, account: WhisperID?
    ) -> [UInt8] {
        var json = JSONWriter()
        json.add("type", "answer")
        json.add("request", request)
        json.add("verb", verb)
        json.add("corrId", corrID)
        outcome.write(&json)
        return Self.envelope(json.finished(), number: nil, account: account)
    }

    static func envelope(_ event: [UInt8], number: Int64?, account: WhisperID?) -> [UInt8] {
        var json = JSONWriter()
        if let number { json.add("seq", number) }
        if let account { json.add("account", account) }
        json.add("event", json: event)
        return json.finished()
    }

    static func write(_ status: ConnectionStatus, _ json: inout JSONWriter) {
        switch status {
        case .connecting: json.add("state", "connecting")
        case .online: json.add("state", "online")
        case .away(let why, let retryIn):
            json.add("state", "away")
            json.add("why", why)
            let parts = retryIn.components
            json.add("retryInMs", max(parts.seconds * 1_000 + parts.attoseconds / 1_000_000_000_000_000, 0))
        case .stopped(let reason):
            json.add("state", "stopped")
            json.add("reason", reason.word)
            if case .banned(let until?) = reason { json.add("bannedUntil", until) }
        }
    }

    private static func write(_ news: BackupNews, _ json: inout JSONWriter) {
        switch news {
        case .written: json.add("state", "written")
        case .unreadable: json.add("state", "unreadable")
        case .tooLarge(let bytes):
            json.add("state", "tooLarge")
            json.add("bytes", Int64(bytes))
        case .refused(let status):
            json.add("state", "refused")
            json.add("status", Int64(status))
        }
    }

    private static func write(_ alarm: Alarm, _ json: inout JSONWriter) {
        switch alarm {
        case .suspiciousMail(let suspicion, let count):
            json.add("kind", suspicion.reason.rawValue)
            json.add("whisperId", suspicion.sender)
            json.add("count", Int64(count))
        case .foreignKeys(let id):
            json.add("kind", "foreignKeys")
            json.add("whisperId", id)
        case .changedKeys(let id):
            json.add("kind", "changedKeys")
            json.add("whisperId", id)
        }
    }
}

/// Result or error of a verb.
enum Outcome: Sendable {
    /// The object of its result.
    case result([UInt8])
    case error(CoreError)

    func write(_ json: inout JSONWriter) {
        switch self {
        case .result(let object): json.add("result", json: object)
        case .error(let error): json.add("error", object: error) { $0.write(&$1) }
        }
    }
}

extension ClientEvent {
    /// Whether consumers read it from the store.
    var isKept: Bool {
        switch self {
        case .changed(let message): message.state != .sending
        case .received, .contact, .request, .group, .restored, .backup, .alarm: true
        case .connection, .caughtUp, .live, .room, .passing: false
        }
    }
}
