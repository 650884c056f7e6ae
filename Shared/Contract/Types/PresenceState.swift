/// Whether somebody is connected, as peers are told.
package enum PresenceState: Hashable, Sendable {
    case online
    case offline(lastSeen: Timestamp)
}
