package import Bus
package import ClusterContract
package import Contract
package import Logging
package import Store
import Telemetry

/// Erases identities: what auth owns in one transaction, and the news behind its commit (contract §20.4).
package struct Eraser: Sendable {
    private let sessions: SessionTable
    private let news: ProfileNews
    private let bus: any Bus
    private let clock: ServiceClock
    private let metrics = ErasureMetrics()
    private let logger: Logger

    package init(pool: PostgresPool, bus: any Bus, clock: ServiceClock = .real, logger: Logger) {
        self.sessions = SessionTable(pool)
        self.news = ProfileNews(bus: bus)
        self.bus = bus
        self.clock = clock
        self.logger = logger
    }

    /// Erases the identity with the commit of this transaction, and leaves tombstones of it.
    /// - Parameter forget: removes rows of another core that name the identity. It runs when the identity is locked.
    /// - Returns: `nil` if there is no such identity, or it is not in the epoch of the order.
    package func erase(
        _ order: ErasureOrder, in transaction: borrowing Transaction,
        forget: (borrowing Transaction) async throws(StoreError) -> Void
    ) async throws(StoreError) -> DecidedErasure? {
        let identity = order.identity
        guard let held = try await transaction.query(ErasureTable.lock(identity, in: order.epoch)) else { return nil }
        let profiles = try await transaction.query(ErasureTable.lockProfiles(of: identity))
        try await forget(transaction)
        let others = try await transaction.query(ErasureTable.others(in: profiles, than: identity))
        let now = self.clock.store
        var erasing = Pipeline()
        erasing.add(Tombstones.add(Tombstones.marks(of: held.keys), at: now))
        erasing.add(ErasureTable.removeRows(of: identity, alone: profiles.filter { others[$0] == nil }))
        let decided = erasing.add(ErasureTable.add(order, at: now))
        _ = erasing.add(ErasureTable.forgetInAudit(order.id, inNotes: false))
        let answers = try await transaction.pipeline(erasing)
        let ended = try await self.sessions.removeAll(of: identity, in: transaction)
        try await transaction.execute(ErasureTable.removeIdentity(identity))
        let (number, decidedAt) = try answers[decided]
        return DecidedErasure(
            id: order.id, identity: identity, number: number, decidedAt: decidedAt, epoch: held.epoch, sessions: ended,
            profiles: profiles.map { .init(id: $0, others: others[$0] ?? []) })
    }

    /// Tells what follows from a commit. Each piece may be lost: caches end, gateways ask, and calls look at their tables.
    package func enforce(_ erasure: DecidedErasure, by origin: ErasureOperations.Origin) async {
        self.metrics.begun[origin == .person ? .person : .operator].increment()
        self.logger.notice("erasure decided", [.erasureId: "\(erasure.id)"])
        do throws(BusError) {
            try await self.bus.delete(erasure.sessions.map { Keyspace.session($0) })
        } catch {
            self.logger.warning("ended tokens left in the cache", [.error: "\(error)"])
        }
        for profile in erasure.profiles {
            self.news.tell(.members, of: profile.id, to: profile.others)
            self.news.tellConversations(of: profile.id)
        }
    }

    /// Closes connections of the identity.
    package static func end(of erasure: DecidedErasure) -> ClusterNotice {
        .sessionsEnded(erasure.identity, before: Epoch(value: erasure.epoch.value + 1), why: .replaced)
    }

    /// The same, for an operator who has no connection of the identity.
    package func close(_ erasure: DecidedErasure) { self.bus.publish(Self.end(of: erasure), to: Keyspace.nodes) }
}
