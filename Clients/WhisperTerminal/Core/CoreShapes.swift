import Contract
import TerminalText
import WhisperClient

/// Reads what a core writes (`Shapes`, `EventText`). Fields of a later release are left out.
extension JSONMembers {
    func integer(_ name: String) -> Int64? { self[name].flatMap { Int64(String(decoding: $0, as: UTF8.self)) } }

    func bool(_ name: String) -> Bool? {
        switch self[name].map({ String(decoding: $0, as: UTF8.self) }) {
        case "true": true
        case "false": false
        default: nil
        }
    }

    func object(_ name: String) -> JSONMembers? {
        guard let text = self[name], case .object(let members) = JSONText(text) else { return nil }
        return members
    }

    /// The number of elements.
    func count(_ name: String) -> Int {
        guard let text = self[name], case .array(let texts) = JSONText(text) else { return 0 }
        return texts.count
    }

    /// The elements that are Whisper IDs, which have no escapes.
    func whisperIDs(_ name: String) -> [WhisperID] {
        guard let text = self[name], case .array(let texts) = JSONText(text) else { return [] }
        return texts.compactMap { WhisperID(ascii: $0.dropFirst().dropLast()) }
    }

    /// The elements that are objects.
    func objects(_ name: String) -> [JSONMembers] {
        guard let text = self[name], case .array(let texts) = JSONText(text) else { return [] }
        return texts.compactMap { text in
            guard case .object(let members) = JSONText(text) else { return nil }
            return members
        }
    }

    func whisperID(_ name: String) -> WhisperID? { self.string(name).flatMap { WhisperID($0) } }

    func key(_ name: String) -> Bytes32? {
        self.string(name).flatMap { Base64.decode($0) }.flatMap { Bytes32($0) }
    }
}

extension Poll {
    init?(_ json: JSONMembers) {
        let options = json.objects("options")
        self.init(
            options: options.compactMap { $0.string("text") }, isMany: json.bool("many") ?? false,
            until: json.integer("until").map { Timestamp(milliseconds: $0) })
        var choices: [WhisperID: [Int]] = [:]
        for (place, option) in options.enumerated() {
            for voter in option.whisperIDs("voters") { choices[voter, default: []].append(place) }
        }
        self.votes = choices.map { Vote(from: $0.key, choices: $0.value) }
    }
}

extension Message {
    init?(_ json: JSONMembers) {
        guard let id = json.string("messageId").flatMap({ UUIDText($0) }), let peer = json.whisperID("chat"),
            let time = json.integer("time"), let kind = json.string("kind")
        else { return nil }
        let direction: Direction
        if json.string("direction") == "in" {
            direction = .incoming(isRead: json.bool("isRead") ?? false)
        } else {
            guard let state = MessageState(json) else { return nil }
            direction = .outgoing(state)
        }
        let content: Content =
            switch kind {
            case "unreadable": .unreadable
            case "deleted": .deleted
            default:
                if let text = json.string("text") {
                    .text(text)
                } else {
                    .other(kind: kind, body: json.string("body").flatMap { Base64.decode($0) } ?? [])
                }
            }
        self.init(
            id: id, peer: peer, groupID: json.string("groupId"), direction: direction, content: content,
            time: Timestamp(milliseconds: time))
        self.attachment = json.object("attachment").flatMap { Attachment($0) }
        self.isEdited = json.bool("isEdited") ?? false
        self.isMentioned = json.bool("isMentioned") ?? false
        if let id = json.string("replyTo").flatMap({ UUIDText($0) }), let author = json.whisperID("replyFrom") {
            self.replyTo = MessageReference(id: id, author: author)
        }
        self.poll = json.object("poll").flatMap { Poll($0) }
        self.reactions = json.objects("reactions").compactMap { json in
            guard let from = json.whisperID("from"), let text = json.string("reaction") else { return nil }
            return Reaction(from: from, text: text)
        }
    }
}

extension ChatNote {
    init?(_ json: JSONMembers) {
        // A later release may note more.
        guard let place = json.integer("number"), let time = json.integer("time") else { return nil }
        let (seconds, members) = (json.integer("seconds") ?? 0, json.whisperIDs("members"))
        let kind: Kind
        switch json.string("kind") {
        case "timer": kind = .timer(seconds)
        case "call":
            guard let outcome = json.string("outcome").flatMap({ CallNote.Outcome(rawValue: $0) }) else { return nil }
            kind = .call(CallNote(isVideo: json.bool("isVideo") ?? false, outcome: outcome, seconds: seconds))
        case "added": kind = .added(members, count: json.integer("count") ?? 0)
        case "removed": kind = .removed(members, count: json.integer("count") ?? 0)
        case "title": kind = .title(json.string("title") ?? "")
        default: return nil
        }
        self.init(
            place: place, time: Timestamp(milliseconds: time), person: json.whisperID("from"), kind: kind)
    }
}

extension MessageState {
    fileprivate init?(_ json: JSONMembers) {
        switch json.string("state") {
        case "queued": self = .queued
        case "sending": self = .sending
        case "sent": self = .sent
        case "delivered": self = .delivered
        case "read": self = .read
        case "expired": self = .expired
        case "failed": self = .failed(json.string("reason").flatMap { FailureReason(rawValue: $0) } ?? .rejected)
        default: return nil
        }
    }
}

extension Attachment {
    fileprivate init?(_ json: JSONMembers) {
        guard let type = json.string("mimeType"), let size = json.integer("size") else { return nil }
        let state: State
        switch json.string("state") {
        case "offered": state = .offered
        case "waiting": state = .waiting
        case "complete": state = .complete
        case "kept": state = .kept
        case "failed": state = .failed(json.string("reason").flatMap { FileFailure(rawValue: $0) } ?? .rejected)
        default: return nil
        }
        self.init(
            details: FileDetails(
                name: json.string("name"), type: type, size: size,
                voice: json.object("voice").flatMap {
                    VoiceNote(durationMs: $0.integer("durationMs") ?? 0, waveform: nil)
                },
                isUnsigned: json.bool("isUnsigned") ?? false),
            state: state)
    }
}

extension Contact {
    init?(_ json: JSONMembers) {
        guard let id = json.whisperID("whisperId"), let sign = json.key("signPublicKey"),
            let box = json.key("encPublicKey"), let time = json.integer("addedAt")
        else { return nil }
        self.init(
            id: id, name: json.string("name"), keys: PublicKeys(sign: sign, box: box),
            isBanned: json.bool("isBanned") ?? false, addedAt: Timestamp(milliseconds: time),
            isStranger: json.bool("isStranger") ?? false, notes: json.string("notes"),
            isPinned: json.bool("isPinned") ?? false, isMuted: json.bool("isMuted") ?? false,
            isBlocked: json.bool("isBlocked") ?? false,
            verification: json.string("verification").flatMap { Verification(rawValue: $0) },
            isGone: json.bool("isGone") ?? false)
    }
}

extension Suspicion {
    /// - Parameter reason: as it is written.
    init?(sender: WhisperID?, reason: String?) {
        guard let sender, let reason = reason.flatMap({ Reason(rawValue: $0) }) else { return nil }
        self.init(sender: sender, reason: reason)
    }
}

extension ClientEvent {
    /// - Returns: `nil` for what no command needs.
    init?(_ json: JSONMembers) {
        switch json.string("type") {
        case "connection":
            guard let status = ConnectionStatus(json) else { return nil }
            self = .connection(status)
        case "caughtUp": self = .caughtUp
        case "messageReceived":
            guard var message = json.object("message").flatMap({ Message($0) }) else { return nil }
            message.isSilent = json.bool("isSilent") ?? false
            self = .received(message)
        case "messageChanged":
            guard let message = json.object("message").flatMap({ Message($0) }) else { return nil }
            self = .changed(message)
        case "timerChanged":
            guard let place = json.string("chat").flatMap({ Conversation($0) }),
                let person = json.string("from").flatMap({ WhisperID($0) }), let seconds = json.integer("seconds")
            else { return nil }
            self = .passing(.timer(place, by: person, seconds: seconds))
        case "chatChanged":
            guard let place = json.string("chat").flatMap({ Conversation($0) }) else { return nil }
            self = .passing(
                .chat(
                    ChatState(
                        place: place, unread: Int(json.integer("unread") ?? 0), draft: json.string("draft"),
                        isPinned: json.bool("isPinned") ?? false, isMuted: json.bool("isMuted") ?? false,
                        timer: json.integer("timer"), keepers: json.whisperIDs("keepers"))))
        case "contactChanged":
            guard let contact = json.object("contact").flatMap({ Contact($0) }) else { return nil }
            self = .contact(contact)
        case "requestReceived":
            guard let contact = json.object("contact").flatMap({ Contact($0) }) else { return nil }
            self = .request(contact)
        case "backup":
            guard let event = Self.backup(json) else { return nil }
            self = event
        case "alarm":
            guard let alarm = Alarm(json) else { return nil }
            self = .alarm(alarm)
        default:
            guard let event = Self.live(json) ?? Self.room(json) else { return nil }
            self = event
        }
    }

    private static func backup(_ json: JSONMembers) -> ClientEvent? {
        switch json.string("state") {
        case "written": .backup(.written)
        case "unreadable": .backup(.unreadable)
        case "tooLarge": .backup(.tooLarge(bytes: Int(json.integer("bytes") ?? 0)))
        case "refused": .backup(.refused(status: Int(json.integer("status") ?? 0)))
        case "restored":
            .restored(added: Int(json.integer("added") ?? 0), missing: Int(json.integer("missing") ?? 0))
        default: nil
        }
    }
}

extension ConnectionStatus {
    fileprivate init?(_ json: JSONMembers) {
        switch json.string("state") {
        case "connecting": self = .connecting
        case "online": self = .online
        case "away":
            // The server's words may be in it.
            self = .away(
                why: harmlessLine(json.string("why") ?? ""), retryIn: .milliseconds(json.integer("retryInMs") ?? 0))
        case "stopped":
            let until = json.integer("bannedUntil").map { Timestamp(milliseconds: $0) }
            self = .stopped(StopReason(json.string("reason") ?? "", bannedUntil: until) ?? .loginRefused)
        default: return nil
        }
    }
}

extension StopReason {
    fileprivate init?(_ word: String, bannedUntil: Timestamp?) {
        let all: [StopReason] =
            [
                .closed, .replaced, .banned(until: bannedUntil), .loginRefused, .foreignChallenge, .foreignIdentity,
                .storeFailed,
            ] + RefusalReason.allCases.map { .refused($0) }
        guard let reason = all.first(where: { $0.word == word }) else { return nil }
        self = reason
    }
}

extension Alarm {
    fileprivate init?(_ json: JSONMembers) {
        guard let id = json.whisperID("whisperId") else { return nil }
        switch json.string("kind") {
        case "foreignKeys": self = .foreignKeys(of: id)
        case "changedKeys": self = .changedKeys(of: id)
        case let reason:
            guard let suspicion = Suspicion(sender: id, reason: reason) else { return nil }
            self = .suspiciousMail(suspicion, count: Int(json.integer("count") ?? 1))
        }
    }
}
