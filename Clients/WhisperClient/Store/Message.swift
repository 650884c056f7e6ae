package import Contract

/// One message as the application sees it.
package struct Message: Sendable, Equatable, Identifiable {
    package enum Direction: Hashable, Sendable {
        case outgoing(MessageState)
        /// `isRead` is ours: whether the person here has seen it.
        case incoming(isRead: Bool)
    }

    /// What is inside.
    package enum Content: Hashable, Sendable {
        case text(String)
        /// A kind this release cannot show (`image`, `voice`, …).
        case other(kind: String)
        /// Truly from the sender, but not decryptable here.
        case unreadable
    }

    package var id: UUIDText
    /// The other end of the conversation.
    package var peer: WhisperID
    package var groupID: String?
    package var direction: Direction
    package var content: Content
    /// The sender's time; for outgoing messages, when they were written.
    package var time: Timestamp

    package var state: MessageState? {
        if case .outgoing(let state) = self.direction { state } else { nil }
    }
}

/// Somebody whose keys are pinned.
package struct Contact: Sendable, Equatable {
    package var id: WhisperID
    /// As this person is called here; `nil` for a stranger who wrote first.
    package var name: String?
    package var keys: PublicKeys
    package var isBanned: Bool
    package var addedAt: Timestamp

    package var shownName: String { self.name ?? "\(self.id)" }
}
