package import Contract

/// One message as the application sees it.
package struct Message: Sendable, Equatable, Identifiable {
    package enum Direction: Hashable, Sendable {
        case outgoing(MessageState)
        /// `isRead` is ours: whether the person here has seen it.
        case incoming(isRead: Bool)
    }

    /// The content of a message.
    package enum Content: Hashable, Sendable {
        case text(String)
        /// Content that this release does not know as text. The bytes are the sender's, the kind (`image`, `voice`, …)
        /// is the server's word: the signature does not cover it.
        case other(kind: String, body: [UInt8])
        /// Truly from the sender, but not decryptable here.
        case unreadable
        /// Its author has deleted it.
        case deleted

        /// Whether this release can read it.
        var isKnown: Bool {
            switch self {
            case .text, .deleted: true
            case .other, .unreadable: false
            }
        }
    }

    package var id: UUIDText
    /// The sender, or the recipient of our own message. For our own group message: ourselves.
    package var peer: WhisperID
    /// The group it was written to. Then it is no part of the conversation with `peer`.
    package var groupID: String?
    package var direction: Direction
    package var content: Content
    /// The sender's time; for outgoing messages, when they were written.
    package var time: Timestamp
    /// The message that this one answers. It may not be here.
    package var replyTo: MessageReference?
    /// Its author has changed the text.
    package var isEdited = false
    /// One of each person, in the order of their ids.
    package var reactions: [Reaction] = []
    /// The file that it brings. Then a text is what the sender says to it, and may be empty.
    package var attachment: Attachment?

    package var mentions: [Mention] = []
    /// A received message that names us.
    package var isMentioned = false
    /// The chat of this message that has just come is muted, and the message does not pass that. Hosts ring for others alone.
    package var isSilent = false
    package var poll: Poll?
    /// Seconds after which it disappears, once it is sent or read.
    package var expires: Int64?
    /// By the server's clock. An unread one of theirs has the latest time.
    package var expiresAt: Timestamp?

    /// Members whose copy of our group message has failed.
    package var failedMembers = 0

    package init(
        id: UUIDText, peer: WhisperID, groupID: String? = nil, direction: Direction, content: Content, time: Timestamp,
        replyTo: MessageReference? = nil
    ) {
        self.id = id
        self.peer = peer
        self.groupID = groupID
        self.direction = direction
        self.content = content
        self.time = time
        self.replyTo = replyTo
    }

    /// Whether it is between `peer` and us alone.
    package var isDirect: Bool { self.groupID == nil }

    package var place: Conversation { self.groupID.map { .group($0) } ?? .direct(self.peer) }

    package var state: MessageState? {
        if case .outgoing(let state) = self.direction { state } else { nil }
    }

    /// The same message of ours in another state.
    func moved(to state: MessageState) -> Message {
        var message = self
        message.direction = .outgoing(state)
        return message
    }
}

/// One person's reaction to a message.
package struct Reaction: Hashable, Sendable {
    package var from: WhisperID
    /// An emoji, or any short text.
    package var text: String

    package init(from: WhisperID, text: String) { (self.from, self.text) = (from, text) }
}

/// The proof of a contact's keys beside the id.
package enum Verification: String, Sendable, CaseIterable {
    /// A link: as good as the way by which it came.
    case linked
    /// A link that was read off the other person's screen: as good as a safety number.
    case scanned
    /// The safety number was compared.
    case compared
}

/// Somebody whose keys are pinned.
package struct Contact: Sendable, Equatable {
    package var id: WhisperID
    /// As this person is called here; `nil` for a stranger who wrote first.
    package var name: String?
    package var keys: PublicKeys
    package var isBanned: Bool
    /// The server does not know the id any more. Its keys stay pinned, so that nobody else is taken for them.
    package var isGone = false
    package var addedAt: Timestamp
    /// Wrote first, and was neither added nor answered. Strangers are not in the backup: anybody can be one.
    package var isStranger = false
    /// For the person here alone, as are the marks. They are in the backup.
    package var notes: String?
    package var isPinned = false
    package var isMuted = false
    /// Their mail is acknowledged and dropped, and nothing is sent to them.
    package var isBlocked = false
    /// On this device.
    package var verification: Verification?
    /// The person here has compared the safety number, or scanned the other person's link.
    package var isVerified: Bool { self.verification.map { $0 != .linked } ?? false }

    package init(
        id: WhisperID, name: String?, keys: PublicKeys, isBanned: Bool, addedAt: Timestamp, isStranger: Bool = false,
        notes: String? = nil, isPinned: Bool = false, isMuted: Bool = false, isBlocked: Bool = false,
        verification: Verification? = nil, isGone: Bool = false
    ) {
        self.id = id
        self.name = name
        self.keys = keys
        self.isBanned = isBanned
        self.addedAt = addedAt
        self.isStranger = isStranger
        self.notes = notes
        self.isPinned = isPinned
        self.isMuted = isMuted
        self.isBlocked = isBlocked
        self.verification = verification
        self.isGone = isGone
    }

    package var shownName: String { self.name ?? "\(self.id)" }
}
