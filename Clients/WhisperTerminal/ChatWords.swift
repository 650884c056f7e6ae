import Contract
import TerminalText
import WhisperClient

/// The words of a chat about people, groups and changed messages. Remembers what was shown of the latest messages, so
/// that it can say what has changed. Asks the core for titles of groups, and does nothing else.
struct ChatWords {
    private let core: CoreClient
    private let partner: ChatPartner
    private let ownID: WhisperID?
    private var names: [WhisperID: String] = [:]
    private var strangers: Set<WhisperID> = []
    /// People whose apps keep what should disappear, as it was said last.
    private var keepers: Set<WhisperID> = []
    private var shown: [MessageKey: Message] = [:]
    /// The oldest first.
    private var order: [MessageKey] = []

    /// Messages that are remembered.
    private static let shownMax = 500

    init(core: CoreClient, partner: ChatPartner) async throws {
        (self.core, self.partner) = (core, partner)
        self.ownID = try await core.identity().flatMap { WhisperID($0.id) }
        if case .person(let peer) = partner { self.met(peer) }
        for contact in try await core.contacts() { self.met(contact) }
    }

    mutating func met(_ contact: Contact) {
        self.names[contact.id] = harmlessLine(contact.shownName)
        if contact.isStranger { self.strangers.insert(contact.id) } else { self.strangers.remove(contact.id) }
    }

    func name(_ id: WhisperID) -> String { self.names[id] ?? "\(id)" }

    /// For each line of somebody. An id would leave little room beside it.
    func shortName(_ id: WhisperID) -> String {
        let name = self.name(id)
        return name == "\(id)" ? "\(name.prefix(8))…" : name
    }

    /// The notice about the other person here; `nil` if they are a contact.
    var strangerNotice: String? {
        guard case .person(let peer) = self.partner, self.strangers.contains(peer.id) else { return nil }
        return
            "? A request: you have not added this person. They are not told that you read it before you /accept or answer; "
            + "/reject deletes it, /block keeps them away."
    }

    func isHere(_ message: Message) -> Bool {
        switch self.partner.place {
        case .direct(let peer): message.isDirect && message.peer == peer
        case .group(let id): message.groupID.map { Conversation.key(ofGroup: $0) } == id
        }
    }

    /// A message that belongs to another chat has come.
    /// - Returns: `nil` if nobody is to be disturbed by it.
    func elsewhere(_ message: Message) async throws -> String? {
        guard !message.isSilent else { return nil }
        if let group = message.groupID {
            let title = try await self.core.title(ofGroup: group)
            let did = message.isMentioned ? "named you in" : "wrote to"
            return "✉ \(self.name(message.peer)) \(did) \(title): whisper inbox"
        }
        let name = self.name(message.peer)
        return self.isRequest(message)
            ? "? A request: \(name), a stranger, wrote to you: whisper inbox"
            : "✉ \(name) wrote to you: whisper chat \(name)"
    }

    /// Whether it is one of a stranger, whom nothing tells that it was read.
    func isRequest(_ message: Message) -> Bool {
        message.state == nil && message.isDirect && self.strangers.contains(message.peer)
    }

    func text(of note: ChatNote) -> String {
        let actor = note.person.map(self.subject)
        switch note.kind {
        case .timer(let seconds): return "\(actor ?? ""): \(ChatTimer.sentence(seconds: seconds))"
        case .call(let call):
            let kind = call.isVideo ? "video call" : "voice call"
            let missed = call.outcome == .missed ? "missed " : ""
            return "\(timeOfDay(note.time)) \(actor ?? ""): \(missed)\(kind)\(Self.end(of: call))"
        case .added(let members, let count):
            let more = Self.more(count, than: members)
            return actor.map { "\($0) added \(self.objects(members))\(more)" }
                ?? "\(self.subjects(members))\(more) joined"
        case .removed(let members, _) where members == [note.person]: return "\(self.subjects(members)) left"
        case .removed(let members, let count):
            let more = Self.more(count, than: members)
            return actor.map { "\($0) removed \(self.objects(members))\(more)" }
                ?? "\(self.subjects(members))\(more): no longer in the group"
        case .title(let title):
            let name = harmlessLine(title)
            return actor.map { "\($0) named the group \(name)" } ?? "The group is called \(name) now"
        }
    }

    private static func more(_ count: Int64, than members: [WhisperID]) -> String {
        count > members.count ? " and \(count - Int64(members.count)) more" : ""
    }

    private func subject(_ person: WhisperID) -> String { person == self.ownID ? "You" : self.name(person) }

    private func subjects(_ people: [WhisperID]) -> String { people.map(self.subject).joined(separator: ", ") }

    private func objects(_ people: [WhisperID]) -> String {
        people.map { $0 == self.ownID ? "you" : self.name($0) }.joined(separator: ", ")
    }

    private static func end(of call: CallNote) -> String {
        switch call.outcome {
        case .talked: ", \(call.seconds / 60):\(call.seconds % 60 < 10 ? "0" : "")\(call.seconds % 60)"
        case .missed: ""
        case .declined: ", declined"
        case .busy: ", busy"
        case .noAnswer: ", no answer"
        case .cancelled: ", cancelled"
        case .failed: ", not connected"
        }
    }

    /// Somebody has set the timer of the chat.
    func timer(by person: WhisperID, seconds: Int64) -> String {
        "\(self.subject(person)): \(ChatTimer.sentence(seconds: seconds))"
    }

    /// - Returns: `nil` if nobody is new among the people whose apps keep what should disappear.
    mutating func warning(of keepers: [WhisperID]) -> String? {
        let new = keepers.filter { !self.keepers.contains($0) }
        self.keepers = Set(keepers)
        guard !new.isEmpty else { return nil }
        let names = new.map { self.name($0) }.joined(separator: ", ")
        return "Not everybody's app deletes: messages stay with \(names)."
    }

    // MARK: Changes

    /// - Returns: the message as it was shown before.
    @discardableResult
    mutating func saw(_ message: Message) -> Message? {
        let key = MessageKey(message)
        let before = self.shown.updateValue(message, forKey: key)
        guard before == nil else { return before }
        self.order.append(key)
        if self.order.count > Self.shownMax { self.shown[self.order.removeFirst()] = nil }
        return nil
    }

    /// - Returns: what somebody did to it, and whether it is one of ours in another state than before.
    mutating func changes(to message: Message) -> (lines: [String], hasMoved: Bool) {
        let before = self.saw(message)
        let hasMoved = message.state != nil && before?.state != message.state
        let author = message.state == nil ? self.name(message.peer) : "You"
        guard let before else { return (self.older(message, by: author), hasMoved) }
        guard message.content != .deleted else {
            let isNew = before.content != .deleted
            return (isNew ? ["\(author) deleted the message of \(clock(message.time))."] : [], hasMoved)
        }
        var lines: [String] = []
        if message.content != before.content {
            let text = WhisperTerminal.shown(message.content)
            lines.append("\(author) changed the message of \(clock(message.time)): \(text)")
        }
        for reaction in message.reactions where !before.reactions.contains(reaction) {
            lines.append(
                "\(self.reactor(reaction)) reacted \(harmlessLine(reaction.text)) to \(excerpt(of: message))")
        }
        let reactors = Set(message.reactions.map(\.from))
        for reaction in before.reactions where !reactors.contains(reaction.from) {
            lines.append(
                "\(self.reactor(reaction)) took back \(harmlessLine(reaction.text)) of \(excerpt(of: message))")
        }
        return (lines, hasMoved)
    }

    /// A message of theirs from before what is remembered. How it was is not known.
    private func older(_ message: Message, by author: String) -> [String] {
        guard message.state == nil else { return [] }
        if message.content == .deleted { return ["\(author) deleted an older message."] }
        guard message.isEdited || !message.reactions.isEmpty else { return [] }
        return ["An older message of \(author) is now: \(self.shown(message))"]
    }

    private func reactor(_ reaction: Reaction) -> String {
        switch self.partner {
        case .person(let peer): reaction.from == peer.id ? self.name(reaction.from) : "You"
        case .group: reaction.from == self.ownID ? "You" : self.name(reaction.from)
        }
    }

    /// Messages have disappeared: nothing quotes them any more.
    mutating func forget(_ keys: Set<MessageKey>) {
        for key in keys { self.shown[key] = nil }
        self.order.removeAll(where: keys.contains)
    }

    /// A message as it is drawn, if it is remembered.
    func shown(_ key: MessageKey) -> String? { self.shown[key].map { self.shown($0) } }

    /// A message as it is drawn: with the one that it answers, its file, and what others think of it.
    func shown(_ message: Message) -> String { self.front(of: message) + WhisperTerminal.shown(message) }

    /// The message that this one answers.
    private func front(of message: Message) -> String {
        guard let reply = message.replyTo, message.content != .deleted else { return "" }
        let key = MessageKey(reply, isOurs: reply.author == self.ownID)
        return answering(self.shown[key])
    }

    /// A message as one line.
    func line(_ message: Message, _ style: Style) -> String {
        let name = message.state == nil ? self.name(message.peer) : ""
        return (self.isRequest(message) ? "? " : "")
            + transcript(message, name: name, style, front: self.front(of: message), isPlaceShown: false)
    }
}

/// Characters of a message by which it is named.
private let excerptMax = 30

private func excerpt(of message: Message) -> String {
    let text = harmlessLine(shown(message.content))
    return text.count > excerptMax ? "“\(text.prefix(excerptMax))…”" : "“\(text)”"
}

/// Stands before an answer.
/// - Parameter message: the one that is answered; `nil` if it is not at hand.
func answering(_ message: Message?) -> String { "↪ \(message.map { excerpt(of: $0) } ?? "an earlier message"): " }

/// Which message it is in a chat. Two people may have drawn the same id.
struct MessageKey: Hashable {
    var id: UUIDText
    /// `nil` for ours.
    var author: WhisperID?

    init(_ message: Message) { (self.id, self.author) = (message.id, message.state == nil ? message.peer : nil) }

    init(_ message: DisappearedMessage) { (self.id, self.author) = (message.id, message.author) }

    init(_ reference: MessageReference, isOurs: Bool) {
        (self.id, self.author) = (reference.id, isOurs ? nil : reference.author)
    }
}
