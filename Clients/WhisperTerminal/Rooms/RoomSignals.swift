import Contract
import FoundationEssentials
import Glibc
import TerminalText
import WhisperClient
import WhisperCore

/// A room for a WebRTC stack that runs beside this program: JSON on standard output says what the stack is to do, JSON on standard
/// input says what has come of it (docs/rooms.md). The end of the input leaves the room.
struct RoomSignals {
    let core: CoreClient
    let room: EnteredRoom

    var lines = ReadAhead(label: "standard-input", waitingMax: Self.linesWaitingMax) { readLine() }
    var say: @Sendable (String) -> Void = { printLine(isatty(STDOUT_FILENO) == 1 ? harmlessJSON($0) : $0) }

    /// Lines that are read before they are handled. The pipe keeps the rest.
    private static let linesWaitingMax = 64

    /// Serves the stack until the room is over, the input ends, or this task is cancelled. The last two are to leave.
    /// - Parameter events: of the core, from before the room was entered.
    /// - Throws: a `Problem` if the daemon has gone or was disconnected.
    func run(_ events: AsyncStream<ClientEvent>) async throws -> RoomEnd {
        try await withThrowingTaskGroup(of: RoomEnd.self) { group in
            group.addTask { try await self.read() }
            group.addTask { try await self.show(events) }
            defer { group.cancelAll() }
            return try await group.next() ?? .left
        }
    }

    private func read() async throws -> RoomEnd {
        for await line in self.lines {
            guard let report = SignalLine.Report(line) else {
                self.say(SignalLine.text(SignalLine.Error(message: "a line is not understood")))
                continue
            }
            do {
                try await self.take(report)
            } catch let refusal as CoreClient.Refusal {
                // A room that is over has said so.
                guard CoreError.Code(rawValue: refusal.code) != .notFound else { continue }
                self.say(SignalLine.text(SignalLine.Error(message: "a report is not taken: \(refusal.message)")))
            }
        }
        return .left
    }

    private func take(_ report: SignalLine.Report) async throws {
        switch report {
        case .link(let link, of: let peer, number: let number):
            try await self.core.report(link, of: peer, number: number, in: self.room.id)
        case .data(let text, on: let channel, of: let peer, number: let number):
            _ = try await self.core.answered("room_data") { json in
                json.add("roomId", self.room.id)
                json.add("to", "\(peer)")
                json.add("link", Int64(number))
                json.add("channel", channel.rawValue)
                if let text { json.add("text", text) } else { json.add("base64", "") }
            }
        case .say(let text, isPartial: let isPartial):
            _ = try await self.core.answered("room_say") { json in
                json.add("roomId", self.room.id)
                json.add("text", text)
                json.add("isPartial", isPartial)
            }
        }
    }

    private func show(_ events: AsyncStream<ClientEvent>) async throws -> RoomEnd {
        self.say(self.room.view)
        for await event in events {
            switch event {
            case .connection(CoreClient.disconnected): throw CoreClient.ended
            case .connection(.stopped(let reason)): return .stopped(reason)
            case .connection(.online): self.say(SignalLine.text(SignalLine.Connection(isOnline: true)))
            case .connection(.away): self.say(SignalLine.text(SignalLine.Connection(isOnline: false)))
            case .room(self.room.id, .shown(let view)): self.say(view)
            case .room(self.room.id, .told(let event, let participant)):
                let line = SignalLine.Event(event: event.rawValue, participant: participant.map { "\($0)" })
                self.say(SignalLine.text(line))
            case .room(self.room.id, .link(let peer, let number, let order)):
                self.say(SignalLine.text(SignalLine.Order(order, peer: peer, link: number)))
            case .room(self.room.id, .forged(let participant)):
                self.say(SignalLine.text(SignalLine.Error(message: "forged keys of \(participant)")))
            case .room(self.room.id, .data(let peer, let number, let channel, let text)):
                let line = SignalLine.Written(peer: "\(peer)", link: number, channel: channel.rawValue, text: text)
                self.say(SignalLine.text(line))
            case .room(self.room.id, .message(let peer, let name, let message)):
                self.say(SignalLine.text(SignalLine.Message(message, peer: peer, name: name)))
            case .room(self.room.id, .messageState(let id, let peer, let state)):
                let line = SignalLine.MessageState(id: "\(id)", peer: "\(peer)", state: state.rawValue)
                self.say(SignalLine.text(line))
            case .room(self.room.id, .person(let peer, let person)):
                self.say(SignalLine.text(SignalLine.Person(person, peer: peer)))
            case .room(self.room.id, .over(let end)):
                self.say(SignalLine.text(SignalLine.Over(end)))
                return .over(end)
            default: break
            }
        }
        guard Task.isCancelled else { throw CoreClient.gone }
        return .left
    }

    private func say(_ view: RoomView) { self.say(SignalLine.text(SignalLine.Room(view, link: self.room.link))) }
}

/// The lines that a WebRTC stack reads and writes (docs/rooms.md). Names are part of it.
enum SignalLine {
    static func text(_ line: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Our own plain values: encoding them cannot fail.
        return String(decoding: try! encoder.encode(line), as: UTF8.self)
    }

    // MARK: To the stack

    struct Room: Encodable {
        struct Participant: Encodable {
            var participant: String
            var seat: Int
            var isConnected: Bool
            var isHost: Bool
            var isLinked: Bool
            var isOwn: Bool
            var safetyNumber: String?
        }

        struct Turn: Encodable {
            var urls: [String]
            var username: String
            var credential: String
            var ttl: Int64
        }

        var type = "room"
        var roomId: String
        var revision: Int64
        var participantsMax: Int
        var code: String?
        var link: String?
        var participants: [Participant]
        /// Absent while nobody else has had a seat.
        var turn: Turn?

        init(_ view: RoomView, link: String?) {
            self.roomId = "\(view.room.room)"
            self.revision = view.room.revision
            self.participantsMax = view.room.participantsMax
            self.code = view.code
            self.link = link
            self.participants = view.room.participants.map { participant in
                let isOwn = participant.participant == view.own
                return Participant(
                    participant: "\(participant.participant)", seat: participant.seat,
                    isConnected: participant.isConnected, isHost: participant.participant == view.room.host,
                    isLinked: view.linked.contains(participant.participant), isOwn: isOwn,
                    safetyNumber: isOwn ? nil : view.safetyNumber(with: participant))
            }
            self.turn = view.turn.map { turn in
                Turn(
                    urls: turn.urls, username: turn.username,
                    credential: String(decoding: Base64.encode(turn.credential), as: UTF8.self), ttl: turn.ttl)
            }
        }
    }

    struct Order: Encodable {
        var type: String
        var peer: String
        var link: Int
        var sdp: String?
        var isFresh: Bool?
        var candidate: RoomCandidate?

        init(_ order: LinkOrder, peer: PrincipalID, link: Int) {
            (self.peer, self.link) = ("\(peer)", link)
            switch order {
            case .offer: self.type = "offer"
            case .accept(let sdp, let isFresh): (self.type, self.sdp, self.isFresh) = ("accept", sdp, isFresh)
            case .answer(let sdp): (self.type, self.sdp) = ("answer", sdp)
            case .candidate(let candidate): (self.type, self.candidate) = ("candidate", candidate)
            case .drop: self.type = "drop"
            }
        }
    }

    struct Written: Encodable {
        var type = "data"
        var peer: String
        var link: Int
        var channel: String
        var text: String
    }

    struct Message: Encodable {
        var type = "message"
        var id: String
        var peer: String
        var name: String?
        var at: Int64
        var text: String

        init(_ message: TalkMessage, peer: PrincipalID, name: String?) {
            (self.id, self.peer, self.name) = ("\(message.id)", "\(peer)", name)
            (self.at, self.text) = (message.time.milliseconds, message.text)
        }
    }

    struct MessageState: Encodable {
        var type = "state"
        var id: String
        var peer: String
        var state: String
    }

    struct Person: Encodable {
        var type = "person"
        var peer: String
        var name: String?
        var isPlain: Bool
        var isFull: Bool

        init(_ person: TalkPerson, peer: PrincipalID) {
            (self.peer, self.name) = ("\(peer)", person.name)
            (self.isPlain, self.isFull) = (person.isPlain, person.isFull)
        }
    }

    struct Event: Encodable {
        var type = "event"
        var event: String
        var participant: String?
    }

    struct Connection: Encodable {
        var type = "connection"
        var isOnline: Bool
    }

    struct Over: Encodable {
        var type = "over"
        var reason: String

        init(_ end: MeshMachine.End) {
            self.reason =
                switch end {
                case .left: "left"
                case .closed: "closed"
                case .removed: "removed"
                case .notFound: "notFound"
                case .broken: "broken"
                }
        }
    }

    struct Error: Encodable {
        var type = "error"
        var message: String
    }

    // MARK: From the stack

    enum Report {
        case link(LinkReport, of: PrincipalID, number: Int)
        /// A message that the stack has received on a channel; `nil` was binary.
        case data(String?, on: TalkMachine.Channel, of: PrincipalID, number: Int)
        /// The person at the stack says this.
        case say(String, isPartial: Bool)

        private struct Text: Decodable {
            var type: String
            var peer: String?
            var link: Int?
            var sdp: String?
            var candidate: RoomCandidate?
            var channel: String?
            var text: String?
            var isPartial: Bool?
        }

        /// - Returns: `nil` if it is no such line.
        init?(_ line: String) {
            guard let text = try? JSONDecoder().decode(Text.self, from: Data(line.utf8)) else {
                return nil
            }
            if text.type == "say", let said = text.text, !said.isEmpty {
                self = .say(said, isPartial: text.isPartial ?? false)
                return
            }
            guard let peer = text.peer.flatMap({ PrincipalID($0) }), let link = text.link else { return nil }
            if text.type == "data" {
                guard let channel = TalkMachine.Channel(rawValue: text.channel ?? "talk") else { return nil }
                // A message that is too long counts as one that was binary: as malformed.
                let isShort = (text.text ?? "").utf8.count <= TalkLimits.messageBytesMax
                self = .data(isShort ? text.text : nil, on: channel, of: peer, number: link)
                return
            }
            let report: LinkReport
            switch (text.type, text.sdp, text.candidate) {
            case ("offer", let sdp?, nil): report = .offer(sdp)
            case ("answer", let sdp?, nil): report = .answer(sdp)
            case ("candidate", nil, let candidate?): report = .candidate(candidate)
            case ("connected", nil, nil): report = .connected
            case ("failed", nil, nil): report = .failed
            case ("low", nil, nil): report = .low
            default: return nil
            }
            self = .link(report, of: peer, number: link)
        }
    }
}
