package import Contract
import FoundationEssentials

/// The sealed content of a message: a text, an object in JSON behind a NUL, or both.
///
/// A client that does not know the object still has the text. The object names the message's kind. The envelope's type
/// does not: it is unsigned.
package enum MessageBody: Sendable, Equatable {
    case text(String, Extras)
    /// A file, with or without words to it. The envelope says where it is (`FilePointer`).
    /// - nonce: of its secretbox.
    case file(FileDetails, nonce: [UInt8], text: String, Extras)
    /// A change of another message. It is no message of its own.
    case change(MessageChange)
    /// A change of the chat: how long new messages are kept.
    case timer(ChatTimer)

    /// Members that go with a text.
    package struct Extras: Sendable, Equatable {
        package var replyTo: MessageReference?
        /// Seconds after which the message disappears, once it is sent or read.
        package var expires: Int64?
        package var mentions: [Mention]
        package var poll: Poll?

        package init(
            replyTo: MessageReference? = nil, expires: Int64? = nil, mentions: [Mention] = [], poll: Poll? = nil
        ) {
            (self.replyTo, self.expires, self.mentions, self.poll) = (replyTo, expires, mentions, poll)
        }

        fileprivate var isEmpty: Bool { self == Extras() }
    }

    /// - Parameter message: ours, with this text.
    init(_ text: String, _ file: OutgoingFile?, of message: Message) {
        var poll = message.poll
        poll?.votes = []
        let extras = Extras(
            replyTo: message.replyTo, expires: message.expires, mentions: message.mentions, poll: poll)
        if let file {
            self = .file(file.details, nonce: file.secret.nonce, text: text, extras)
        } else {
            self = .text(text, extras)
        }
    }

    /// The type that the envelope names: clients that know no changes keep them, and show no text.
    package var messageType: String {
        switch self {
        case .text: "text"
        case .file(let details, _, _, _):
            details.voice != nil ? "voice" : details.type.hasPrefix("image/") ? "image" : "file"
        case .change, .timer: "system"
        }
    }

    package var bytes: [UInt8] {
        switch self {
        case .text(let text, let extras):
            let bytes = Array(text.utf8)
            // The object is behind the last NUL: a text that has one needs an object, even an empty one.
            guard !extras.isEmpty || bytes.contains(0) else { return bytes }
            return bytes + [0] + Annex(extras).json
        case .file(let details, let nonce, let text, let extras):
            var annex = Annex(extras)
            annex.file = Annex.File(details, nonce: nonce)
            return Array(text.utf8) + [0] + annex.json
        case .timer(let timer):
            let annex = Annex(timer: Annex.Timer(seconds: timer.seconds, at: timer.revision.time))
            return Array(ChatTimer.sentence(seconds: timer.seconds).utf8) + [0] + annex.json
        case .change(let change):
            let target = Annex.Target(change)
            switch change.kind {
            case .edit(let text, let mentions):
                var annex = Annex(Extras(mentions: mentions))
                annex.edit = target
                return Array(text.utf8) + [0] + annex.json
            case .delete: return [0] + Annex(delete: target).json
            case .react: return [0] + Annex(react: target).json
            case .vote: return Array("Voted in a poll.".utf8) + [0] + Annex(vote: target).json
            }
        }
    }

    /// The same for a group. The server takes no `system` there, so a change goes as a text: in front of its object stands a
    /// sentence, for clients that do not know the object. It never repeats a deleted text.
    package var groupBytes: [UInt8] {
        guard case .change(let change) = self else { return self.bytes }
        switch change.kind {
        case .edit, .vote: return self.bytes
        case .delete: return Array("This message was deleted.".utf8) + self.bytes
        case .react(let reaction):
            return Array((reaction.isEmpty ? "A reaction was removed." : reaction).utf8) + self.bytes
        }
    }

    /// - Parameter id: of the message that holds it.
    /// - Returns: `nil` if there is no object, or none that this release understands: then the bytes are what they are.
    package init?(_ bytes: [UInt8], id: UUIDText) {
        guard let end = bytes.lastIndex(of: 0), bytes.count - end <= ClientLimits.annexBytesMax,
            let text = String(validating: bytes[..<end], as: UTF8.self),
            let annex = try? JSONDecoder().decode(Annex.self, from: Data(bytes[(end + 1)...]))
        else { return nil }
        if let target = annex.edit {
            guard !text.isEmpty, text.utf8.count <= ClientLimits.textBytesMax,
                let change = target.change(.edit(text, annex.mentions(in: text)), id: id)
            else { return nil }
            self = .change(change)
        } else if let target = annex.delete {
            guard let change = target.change(.delete, id: id) else { return nil }
            self = .change(change)
        } else if let target = annex.react {
            guard let reaction = target.reaction, reaction.utf8.count <= ClientLimits.reactionBytesMax,
                let change = target.change(.react(reaction), id: id)
            else { return nil }
            self = .change(change)
        } else if let target = annex.vote {
            guard let choices = target.choices, choices.count <= ClientLimits.pollOptions.upperBound,
                let change = target.change(.vote(choices), id: id)
            else { return nil }
            self = .change(change)
        } else if let file = annex.file {
            guard let details = file.details, let nonce = Base64.decode(file.nonce),
                text.utf8.count <= ClientLimits.textBytesMax
            else { return nil }
            self = .file(details, nonce: nonce, text: text, annex.extras(of: text))
        } else if let timer = annex.timer {
            guard timer.seconds == 0 || ChatTimer.isTime(timer.seconds), timer.at >= 0 else { return nil }
            self = .timer(ChatTimer(seconds: timer.seconds, revision: Revision(time: timer.at, id: id)))
        } else {
            guard !text.isEmpty else { return nil }
            self = .text(text, annex.extras(of: text))
        }
    }
}

/// A message, by who wrote it and its id. Two people may use the same id.
package struct MessageReference: Hashable, Sendable {
    package var id: UUIDText
    package var author: WhisperID

    package init(id: UUIDText, author: WhisperID) {
        self.id = id
        self.author = author
    }
}

/// A change of an existing message by its author, or a reaction to it.
package struct MessageChange: Sendable, Equatable {
    package enum Kind: Sendable, Equatable {
        /// It has another text, which names these people. Only its author may say so.
        case edit(String, [Mention] = [])
        /// It is gone. Only its author may say so, and it stays so.
        case delete
        /// Somebody's reaction, in place of the one before; empty if there is none any more.
        case react(String)
        /// Somebody's choices in a poll, in place of those before; none if the vote is taken back.
        case vote([Int])
    }

    package var target: MessageReference
    package var kind: Kind
    package var revision: Revision
    /// When the envelope of one that came was signed. Its author may name any earlier time inside.
    package var signedAt: Timestamp?
}

/// The order of two changes: by their authors' times, then by their ids. So all devices agree, in any order of arrival.
package struct Revision: Hashable, Sendable, Comparable {
    /// Milliseconds by its author's clock. The same in each attempt to send it.
    package var time: Int64
    /// Id of the message that brings the change, in lower case.
    package var id: String

    package init(time: Int64, id: UUIDText) {
        self.time = time
        self.id = "\(id)".lowercased()
    }

    init(time: Int64, key: String) {
        self.time = time
        self.id = key
    }

    package static func < (one: Revision, other: Revision) -> Bool { (one.time, one.id) < (other.time, other.id) }
}

/// A voice note in JSON: in sealed messages, and in the store.
struct VoiceMembers: Codable {
    var durationMs: Int64
    /// In Base64.
    var waveform: String?

    init(_ voice: VoiceNote) {
        self.durationMs = voice.durationMs
        self.waveform = voice.waveform.map { String(decoding: Base64.encode($0), as: UTF8.self) }
    }

    var note: VoiceNote? {
        guard let text = self.waveform else { return VoiceNote(durationMs: self.durationMs, waveform: nil) }
        return Base64.decode(text).flatMap { VoiceNote(durationMs: self.durationMs, waveform: $0) }
    }
}

/// A member that hides nothing else if it is not of its type.
private struct Lenient<Value: Codable>: Codable {
    var value: Value?

    init(_ value: Value) { self.value = value }
    init(from decoder: any Decoder) { self.value = try? Value(from: decoder) }
    func encode(to encoder: any Encoder) throws { try self.value?.encode(to: encoder) }
}

/// The object behind the text. Fields that this release does not know are ignored.
private struct Annex: Codable {
    struct Reference: Codable {
        var id: String
        var from: String

        init(_ reference: MessageReference) {
            self.id = "\(reference.id)"
            self.from = "\(reference.author)"
        }

        var reference: MessageReference? {
            guard let id = UUIDText(self.id), let author = WhisperID(self.from) else { return nil }
            return MessageReference(id: id, author: author)
        }
    }

    struct Target: Codable {
        var id: String
        var from: String
        var at: Int64
        var reaction: String?
        var choices: [Int]?

        init(_ change: MessageChange) {
            self.id = "\(change.target.id)"
            self.from = "\(change.target.author)"
            self.at = change.revision.time
            switch change.kind {
            case .react(let reaction): self.reaction = reaction
            case .vote(let choices): self.choices = choices
            case .edit, .delete: break
            }
        }

        func change(_ kind: MessageChange.Kind, id: UUIDText) -> MessageChange? {
            guard let target = UUIDText(self.id), let author = WhisperID(self.from), self.at >= 0 else { return nil }
            return MessageChange(
                target: MessageReference(id: target, author: author), kind: kind,
                revision: Revision(time: self.at, id: id))
        }
    }

    struct File: Codable {
        var name: String?
        var type: String
        var size: Int64
        var nonce: String
        var thumbnail: String?
        var voice: VoiceMembers?
        var image: Lenient<ImageSize>?

        init(_ details: FileDetails, nonce: [UInt8]) {
            self.name = details.name
            self.type = details.type
            self.size = details.size
            self.nonce = String(decoding: Base64.encode(nonce), as: UTF8.self)
            self.thumbnail = details.thumbnail.map { String(decoding: Base64.encode($0), as: UTF8.self) }
            self.voice = details.voice.map { VoiceMembers($0) }
            self.image = details.image.map { Lenient($0) }
        }

        /// A name, voice note or size of a picture out of bounds is left out. A size or type out of bounds spoils the whole.
        var details: FileDetails? {
            guard (0...Limits.fileBytesMax).contains(self.size), FileDetails.isType(self.type) else { return nil }
            let thumbnail = self.thumbnail.flatMap { Base64.decode($0) }
            guard thumbnail?.count ?? 0 <= ClientLimits.thumbnailBytesMax else { return nil }
            return FileDetails(
                name: self.name.flatMap { FileDetails.isName($0) ? $0 : nil }, type: self.type, size: self.size,
                thumbnail: thumbnail, voice: VoiceNote.isType(self.type) ? self.voice?.note : nil,
                image: ImageSize.isType(self.type)
                    ? self.image?.value.flatMap { ImageSize(width: $0.width, height: $0.height) } : nil)
        }
    }

    struct Timer: Codable {
        var seconds: Int64
        var at: Int64
    }

    var replyTo: Reference?
    var edit: Target?
    var delete: Target?
    var react: Target?
    var file: File?
    var vote: Target?
    var timer: Timer?
    var expires: Int64?
    var mentions: Lenient<[MentionMembers]>?
    var poll: Lenient<PollMembers>?

    /// A member that breaks a bound is left out.
    func extras(of text: String) -> MessageBody.Extras {
        MessageBody.Extras(
            replyTo: self.replyTo?.reference, expires: self.expires.flatMap { ChatTimer.isTime($0) ? $0 : nil },
            mentions: self.mentions(in: text), poll: self.poll?.value?.poll)
    }

    func mentions(in text: String) -> [Mention] {
        guard let members = self.mentions?.value else { return [] }
        let mentions = members.compactMap(\.mention)
        return mentions.count == members.count && Mention.areValid(mentions, in: text) ? mentions : []
    }

    var json: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
        // Plain values: encoding them cannot fail.
        return try! Array(encoder.encode(self))
    }
}

extension Annex {
    fileprivate init(_ extras: MessageBody.Extras) {
        self.init(
            replyTo: extras.replyTo.map { Reference($0) }, expires: extras.expires,
            mentions: extras.mentions.isEmpty ? nil : Lenient(extras.mentions.map { MentionMembers($0) }),
            poll: extras.poll.map { Lenient(PollMembers($0)) })
    }
}
