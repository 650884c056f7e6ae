package import Store

/// Rows that push keeps of an erased identity: its wake-ups, and those that were given up (contract §20.3).
package struct ErasedRecipients: ErasedRows {
    package static let part = ErasurePart.push

    private let pool: PostgresPool

    package init(_ pool: PostgresPool) { self.pool = pool }

    package func erase(_ erasure: OpenErasure) async throws(StoreError) -> ErasedCount {
        guard case .identity(let identity) = erasure.principal else { return .nothing }
        var pipeline = Pipeline()
        let recipients = pipeline.add(
            Statement(affecting: "DELETE FROM push.recipients WHERE recipient = \(identity)"))
        let letters = pipeline.add(
            Statement(
                affecting: """
                    DELETE FROM push.dead_letters WHERE number IN (
                        SELECT number FROM push.dead_letters WHERE recipient = \(identity)
                        LIMIT \(Int64(ErasureLimits.portion)))
                    """))
        let erased = try await self.pool.pipeline(pipeline)
        return ErasedCount(removed: try erased[recipients] + erased[letters])
    }
}
