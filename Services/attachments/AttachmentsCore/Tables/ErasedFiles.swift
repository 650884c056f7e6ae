import Contract
package import Store

/// The files of an erased identity, and links to it (contract §20.3). The collector removes from the store what is marked here.
package struct ErasedFiles: ErasedRows {
    package static let part = ErasurePart.attachments

    private let pool: PostgresPool

    package init(_ pool: PostgresPool) { self.pool = pool }

    /// A file that is linked stays for those who may fetch it, without the uploader's name, unless the person withdraws what was sent.
    package func erase(_ erasure: OpenErasure) async throws(StoreError) -> ErasedCount {
        guard case .identity(let identity) = erasure.principal else { return .nothing }
        let portion = Int64(ErasureLimits.portion)
        var pipeline = Pipeline()
        let links = pipeline.add(
            Statement(
                affecting: """
                    DELETE FROM attachments.links WHERE ctid = ANY (ARRAY(
                        SELECT ctid FROM attachments.links WHERE recipient = \(identity) LIMIT \(portion)))
                    """))
        let removed = try await self.pool.pipeline(pipeline)[links]
        let files = try await self.pool.withTransaction { transaction throws(StoreError) -> Int in
            // First the locks, then a look: a statement does not see the link that was committed while it waited.
            let numbers = try await transaction.query(Self.lock(filesOf: identity))
            return try await transaction.execute(Self.forget(uploaderOf: numbers, erasure))
        }
        return ErasedCount(removed: removed + files)
    }

    private static func lock(filesOf identity: WhisperID) -> Statement<[Int64]> {
        Statement(
            """
            SELECT number FROM attachments.attachments WHERE uploader = \(identity)
            ORDER BY number LIMIT \(Int64(ErasureLimits.portion)) FOR UPDATE
            """,
            each: { row throws(StoreError) in try row.next() })
    }

    private static func forget(uploaderOf numbers: [Int64], _ erasure: OpenErasure) -> SQL {
        """
        UPDATE attachments.attachments a SET uploader = NULL,
            state = CASE WHEN \(erasure.withdraws) OR NOT EXISTS (
                SELECT FROM attachments.links l WHERE l.attachment = a.number) THEN 3 ELSE state END,
            check_at = CASE WHEN NOT \(erasure.withdraws) AND EXISTS (
                SELECT FROM attachments.links l WHERE l.attachment = a.number) THEN check_at END
        WHERE number = ANY (\(numbers)::int8[])
        """
    }
}
