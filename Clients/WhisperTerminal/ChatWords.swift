import Contract
import TerminalText
import WhisperClient

/// The words of a chat about people, groups and changed messages. Remembers what was shown of the latest messages, so
/// that it can say what has changed. Asks the core for titles of groups, and does nothing else.
struct ChatWords {
    private let core: CoreClient
    private let peer: Contact
    private var names: [WhisperID: String] = [:]
    private var strangers: Set<WhisperID> = []
    private var shown: [MessageKey: Message] = [:]
    /// The oldest first.
    private var order: [MessageKey] = []

    /// Messages that are remembered.
    private static let shownMax = 500
    /// Characters of a message by which it is named.
    private static let excerptMax = 30

    init(core: CoreClient, peer: Contact) async throws {
        (self.core, self.peer) = (core, peer)
        self.met(peer)
        for contact in try await core.contacts() { self.met(contact) }
    }

    mutating func met(_ contact: Contact) {
        self.names[contact.id] = harmlessLine(contact.shownName)
        if contact.isStranger { self.strangers.insert(contact.id) } else { self.strangers.remove(contact.id) }
    }

    func name(_ id: WhisperID) -> String { self.names[id] ?? "\(id)" }

    /// The notice about the other person here; `nil` if they are a contact.
    var strangerNotice: String? {
        guard self.strangers.contains(self.peer.id) else { return nil }
        return
            "? A stranger: you have not added this person. They are not told that you read it before you /accept or answer; "
            + "/reject deletes it, /block keeps them away."
    }

    func isHere(_ message: Message) -> Bool { message.isDirect && message.peer == self.peer.id }

    /// A message that belongs to another chat has come.
    func elsewhere(_ message: Message) async throws -> String {
        if let group = message.groupID {
            let title = try await self.core.title(ofGroup: group)
            return "✉ \(self.name(message.peer)) wrote to \(title): whisper inbox"
        }
        let isStranger = self.strangers.contains(message.peer)
        return "✉ \(self.name(message.peer))\(isStranger ? ", a stranger," : "") wrote to you: "
            + (isStranger ? "whisper inbox" : "whisper chat \(self.name(message.peer))")
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
                "\(self.reactor(reaction)) reacted \(harmlessLine(reaction.text)) to \(Self.excerpt(of: message))")
        }
        let reactors = Set(message.reactions.map(\.from))
        for reaction in before.reactions where !reactors.contains(reaction.from) {
            lines.append(
                "\(self.reactor(reaction)) took back \(harmlessLine(reaction.text)) of \(Self.excerpt(of: message))")
        }
        return (lines, hasMoved)
    }

    /// A message of theirs from before what is remembered. How it was is not known.
    private func older(_ message: Message, by author: String) -> [String] {
        guard message.state == nil else { return [] }
        if message.content == .deleted { return ["\(author) deleted an older message."] }
        guard message.isEdited || !message.reactions.isEmpty else { return [] }
        return ["An older message of \(author) is now: \(WhisperTerminal.shown(message))"]
    }

    private func reactor(_ reaction: Reaction) -> String {
        reaction.from == self.peer.id ? self.name(reaction.from) : "You"
    }

    private static func excerpt(of message: Message) -> String {
        let text = harmlessLine(WhisperTerminal.shown(message.content))
        return text.count > Self.excerptMax ? "“\(text.prefix(Self.excerptMax))…”" : "“\(text)”"
    }
}

/// Which message it is in a chat of two. Both may have drawn the same id.
struct MessageKey: Hashable {
    var id: UUIDText
    var isOurs: Bool

    init(_ message: Message) { (self.id, self.isOurs) = (message.id, message.state != nil) }
}
