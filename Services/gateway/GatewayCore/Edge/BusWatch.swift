import Bus
import ClusterContract

/// Once a second, looks how much the mailboxes' streams hold, and what Redis has lost.
final class BusWatch {
    private let bus: any Bus
    private let jobs: MailboxJobs
    private let canary: Canary
    /// At most one look is under way.
    private(set) var isLooking = false

    init(node: NodeID, bus: any Bus, jobs: MailboxJobs) {
        self.bus = bus
        self.jobs = jobs
        self.canary = Canary(node)
    }

    /// Does nothing while the last look is under way.
    /// - Returns: what Redis may have lost since the last look; `nil` for nothing.
    func look(_ host: isolated some EdgeHost) async -> BusLosses? {
        guard !self.isLooking else { return nil }
        self.isLooking = true
        defer { self.isLooking = false }
        await self.jobs.checkDepths(host)
        // Away: whether it comes back with what it knew shows then.
        guard let losses = try? await self.canary.look(self.bus), !losses.isEmpty else { return nil }
        return losses
    }
}
