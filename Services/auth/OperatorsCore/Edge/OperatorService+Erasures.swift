import ClusterContract
package import Contract
import HTTPAccess
import Store

// Erasures. The decision, its bounds and its audit record are one transaction.
extension OperatorService {
    package struct Decision: Equatable, Sendable {
        package var id: UUIDText
        package var decidedAt: Timestamp
    }

    private enum Ordering: Sendable {
        case decided(DecidedErasure)
        /// It was decided before, and is open.
        case open(Decision)
        case unknown
        case tooMany
    }

    func erase(
        _ wish: ErasureOperations.Erase, _ call: inout AdminGate.Call
    ) async throws(HTTPRefusal) -> Decision {
        // No target: the audit log must not name the person.
        guard let principal = wish.principal else { throw .notOneOfTwoIDs }
        guard "\(principal)" == wish.confirmation else { throw .confirmationMismatch }
        let order = ErasureOrder(principal, sentMail: wish.sentMail, by: .operator)
        var event = call.event
        event.note = wish.reason
        let recorded = event
        let ordering = try await self.changed { transaction throws(StoreError) in
            try await self.order(order, recording: recorded, in: transaction)
        }
        switch ordering {
        case .unknown: throw .unknown(principal)
        case .tooMany: throw .tooManyErasures
        case .open(let decision): return decision
        case .decided(let erasure):
            call.isRecorded = true
            await self.identities.enforce(erasure)
            return Decision(id: erasure.id, decidedAt: erasure.decidedAt)
        }
    }

    private func order(
        _ order: ErasureOrder, recording event: AuditEvent, in transaction: borrowing Transaction
    ) async throws(StoreError) -> Ordering {
        let now = self.clock.store
        var reading = Pipeline()
        reading.add(ErasedRecords.lock)
        let open = reading.add(ErasedRecords.open(of: order.principal))
        let ordered = reading.add(ErasedRecords.ordered(at: now))
        let found = try await transaction.pipeline(reading)
        if let open = try found[open] { return .open(Decision(id: open.id, decidedAt: open.decidedAt)) }
        let (hour, day) = try found[ordered]
        guard hour < Limits.erasuresPerHour, day < self.erasuresPerDay else { return .tooMany }
        let decided = try await self.identities.erase(order, in: transaction) { transaction throws(StoreError) in
            try await ErasedRecords.forget(order.principal, in: transaction)
        }
        guard let decided else { return .unknown }
        var event = event
        event.target = "erasure-\(decided.number)"
        try await self.audit.add(event, at: now, in: transaction)
        return .decided(decided)
    }

    func erasures(_ page: AdminPage) async throws(HTTPRefusal) -> [ErasedRecords.Entry] {
        try await self.stored { () async throws(StoreError) in
            try await self.erasureRecords.list(before: page.cursor, limit: page.lookup)
        }
    }

    /// Oldest first: one that is stuck stands at the top.
    func openErasures(_ page: AdminPage) async throws(HTTPRefusal) -> [ErasedRecords.Entry] {
        try await self.stored { () async throws(StoreError) in
            try await self.erasureRecords.open(limit: page.lookup)
        }
    }

    func erasure(_ id: UUIDText) async throws(HTTPRefusal) -> ErasedRecords.Entry {
        let found = try await self.stored { () async throws(StoreError) in try await self.erasureRecords.find(id) }
        guard let found else { throw .unknownErasure }
        return found
    }
}
