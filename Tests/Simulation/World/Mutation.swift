import Contract

/// A bug that somebody might write one day, put into the simulated edge. Each must be found.
enum Mutation: String, CaseIterable, Sendable {
    /// Postgres says that it has committed, and does so a moment later (`synchronous_commit = off`).
    case answersBeforeCommit
    /// Mail that nobody acknowledged is not sent again.
    case sendsOnce
    /// A connection is announced when it binds, and never again.
    case announcesOnce
    /// A router that takes a partition over does not say so.
    case takesOverInSilence
    /// Nobody notices that Redis was emptied.
    case missesEmptiedBus
    /// Routers and gateways do not reconcile connections, so one whose end was lost stays live for ever.
    case skipsReconciliation
    /// A partition may have two owners.
    case sharesPartitions
    /// A message that comes again is a new one.
    case acceptsRepetitions
    /// A receipt leaves the mail where it is.
    case keepsAcknowledgedMail
    /// What became of a message is told once, and not stored.
    case storesNoOutcomes
    /// Mail for somebody who is away wakes nobody.
    case wakesNobody

    /// - Returns: nil if the Job is not appended.
    func mutated(job bytes: [UInt8], on stream: String) -> [UInt8]? {
        switch self {
        case .announcesOnce:
            guard stream.hasPrefix("mailbox:"), case .bound(let bound) = try? MailboxJob(decoding: bytes) else { return bytes }
            let first = bound.filter { $0.state == .new }
            return first.isEmpty ? nil : MailboxJob.bound(first).encoded()
        case .wakesNobody: return stream == Keyspace.wakes.name ? nil : bytes
        default: return bytes
        }
    }

    /// - Returns: nil if the Notice is not published.
    func mutated(notice bytes: [UInt8], on channel: String) -> [UInt8]? {
        switch self {
        case .takesOverInSilence:
            guard channel == Keyspace.nodes.name, case .partitionAdopted = try? ClusterNotice(decoding: bytes) else { return bytes }
            return nil
        case .sendsOnce:
            guard channel != Keyspace.nodes.name, let notice = try? NodeNotice(decoding: bytes) else { return bytes }
            return NodeNotice(
                events: notice.events.filter { if case .mail(_, _, again: true) = $0 { false } else { true } }
            ).encoded()
        case .skipsReconciliation:
            guard channel != Keyspace.nodes.name, let notice = try? NodeNotice(decoding: bytes) else { return bytes }
            return NodeNotice(events: notice.events.filter { if case .connectionSnapshot = $0 { false } else { true } }).encoded()
        default: return bytes
        }
    }
}
