/// Where a message of ours stands (spec §5.3). It only moves forward.
package enum MessageState: Hashable, Sendable {
    /// Stored here; not under way. Goes to `sending`.
    case queued
    /// Written to a connection, no answer yet. Goes to `sent`, `failed`, or back to `queued`.
    case sending
    /// The server has it for good. Goes to `delivered`, `read` or `expired`.
    case sent
    /// The peer's device has it. Goes to `read`.
    case delivered
    /// The peer has seen it. Terminal.
    case read
    /// Will not be tried again by itself. Goes to `queued` when the person asks for it, unless they cancelled it.
    case failed(FailureReason)
    /// The server kept it for its whole time and nobody came for it.
    case expired

    package enum Progress: Hashable, Sendable {
        case accepted, delivered, read, expired
    }

    /// Takes news from the server.
    /// - Returns: whether the state changed. News that comes late or twice changes nothing: receipts and acceptances
    ///   travel by different ways and may overtake each other.
    package mutating func advance(_ progress: Progress) -> Bool {
        let next: MessageState? =
            switch (self, progress) {
            // A lost answer may have made us give up on something the server did accept.
            case (.queued, .accepted), (.sending, .accepted), (.failed, .accepted): .sent
            case (.read, _), (_, .accepted): nil
            case (_, .read): .read
            case (.delivered, _): nil
            case (_, .delivered): .delivered
            case (.expired, .expired): nil
            case (_, .expired): .expired
            }
        guard let next else { return false }
        self = next
        return true
    }

    /// Nothing is left to send.
    package var isSettled: Bool {
        switch self {
        case .queued, .sending: false
        default: true
        }
    }
}

/// Why a message was given up. A case per thing a person would do differently.
package enum FailureReason: String, Hashable, Sendable, CaseIterable {
    /// Nobody has this id.
    case noSuchPerson
    /// The recipient is banned, or may not be written to.
    case forbidden
    /// Our own account is banned.
    case banned
    /// The server takes the frame or its signature for wrong: a bug on one side.
    case rejected
    /// Every attempt went wrong in a way that looked temporary.
    case triedTooOften
    /// The recipient's key cannot be used for encryption.
    case badKey
    /// Its file could not be uploaded. The attachment says why.
    case fileNotUploaded
    /// The person does not want it sent any more. An attempt before that may have arrived.
    case cancelled
}
