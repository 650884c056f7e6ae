package import ClusterContract
import Contract
package import Store

/// The transaction of an erasure: it removes what auth owns, and leaves tombstones (contract §20.4). It needs no bus.
package struct ErasureDecision: Sendable {
    private let sessions: SessionTable
    private let clock: ServiceClock

    package init(pool: PostgresPool, clock: ServiceClock) {
        self.sessions = SessionTable(pool)
        self.clock = clock
    }

    /// Erases the identity or guest with the commit of this transaction. An identity leaves tombstones.
    /// - Parameter forget: removes rows of another core that name it. It runs when the identity or guest is locked.
    /// - Returns: `nil` if there is none, or it is not as the order demands.
    package func make(
        _ order: ErasureOrder, in transaction: borrowing Transaction,
        forget: (borrowing Transaction) async throws(StoreError) -> Void
    ) async throws(StoreError) -> DecidedErasure? {
        switch order.principal {
        case .identity(let identity): try await self.make(order, of: identity, in: transaction, forget: forget)
        case .guest(let guest): try await self.make(order, of: guest, in: transaction, forget: forget)
        }
    }

    /// A guest leaves no tombstone: browsers make keys as they like, and everybody could fill the table.
    private func make(
        _ order: ErasureOrder, of guest: GuestID, in transaction: borrowing Transaction,
        forget: (borrowing Transaction) async throws(StoreError) -> Void
    ) async throws(StoreError) -> DecidedErasure? {
        guard let held = try await transaction.query(ErasureTable.lock(guest, in: order.epoch)) else { return nil }
        try await forget(transaction)
        var erasing = Pipeline()
        let decided = erasing.add(ErasureTable.add(order, at: self.clock.store))
        _ = erasing.add(ErasureTable.forgetInAudit(order.id, inNotes: false))
        erasing.add(ErasureTable.removeGuest(guest))
        let (number, decidedAt) = try await transaction.pipeline(erasing)[decided]
        return DecidedErasure(
            id: order.id, principal: order.principal, number: number, decidedAt: decidedAt, epoch: held.epoch,
            tokens: held.tokens)
    }

    private func make(
        _ order: ErasureOrder, of identity: WhisperID, in transaction: borrowing Transaction,
        forget: (borrowing Transaction) async throws(StoreError) -> Void
    ) async throws(StoreError) -> DecidedErasure? {
        let now = self.clock.store
        guard let held = try await transaction.query(ErasureTable.lock(identity, for: order, at: now)) else {
            return nil
        }
        let profiles = try await transaction.query(ErasureTable.lockProfiles(of: identity))
        try await forget(transaction)
        let others = try await transaction.query(ErasureTable.others(in: profiles, than: identity))
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
            id: order.id, principal: order.principal, number: number, decidedAt: decidedAt, epoch: held.epoch,
            tokens: ended,
            profiles: profiles.map { .init(id: $0, others: others[$0] ?? []) })
    }
}
