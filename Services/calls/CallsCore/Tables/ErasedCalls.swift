package import Bus
import ClusterContract
import Contract
package import Store

/// Calls of an erased identity. Their owners end them, and forget them a minute later (contract §20.3).
package struct ErasedCalls: ErasedRows {
    package static let part = ErasurePart.calls

    private let pool: PostgresPool
    private let bus: any JobBus

    package init(_ pool: PostgresPool, bus: any JobBus) {
        self.pool = pool
        self.bus = bus
    }

    package func erase(_ erasure: OpenErasure) async throws(StoreError) -> ErasedCount {
        guard case .identity(let identity) = erasure.principal else { return .nothing }
        var pipeline = Pipeline()
        let shares = pipeline.add(
            Statement<[Int16]>(
                "SELECT share FROM calls.calls WHERE caller = \(identity) OR callee = \(identity)",
                each: { row throws(StoreError) in try row.next() }))
        let slots = pipeline.add(
            Statement<Int64>(
                value: """
                    SELECT (SELECT count(*) FROM calls.lines WHERE identity = \(identity))
                        + (SELECT count(*) FROM calls.rings WHERE identity = \(identity))
                    """))
        let found = try await self.pool.pipeline(pipeline)
        let named = try found[shares]
        for share in CallShare.all where named.contains(Int16(share.index)) {
            self.bus.append(CallJob.erased(identity), to: Keyspace.calls(share), failed: { _ in })
        }
        return ErasedCount(removed: 0, waiting: named.count + Int(try found[slots]))
    }
}
