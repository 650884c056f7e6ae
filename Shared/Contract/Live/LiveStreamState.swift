/// The state of a conversation's stream.
package enum LiveStreamState: String, CaseIterable, Sendable {
    /// Nobody whispers. Becomes `live`.
    case idle
    /// Somebody holds it. Becomes `paused`, or `idle` when it ends.
    case live
    /// Its holder has gone, and may come back. Becomes `live` or `idle`.
    case paused
}

/// Why a stream has ended (`live_state`, contract §14.8).
package enum LiveEnding: String, CaseIterable, Sendable {
    /// A device of the profile has stopped it.
    case stopped
    /// It was paused for too long.
    case timeout
    /// The conversation is deleted.
    case deleted
}
