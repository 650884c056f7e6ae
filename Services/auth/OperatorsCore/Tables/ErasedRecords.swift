package import Contract
package import Store

/// Reports and bans of an identity that is being erased (contract §20.3), and the erasures as operators see them.
package struct ErasedRecords: Sendable {
    /// An erasure names nobody.
    package struct Entry: Equatable, Sendable {
        package var id: UUIDText
        package var number: Int64
        package var origin: String
        package var decidedAt: Timestamp
        package var finishedAt: Timestamp?
        /// Parts that are not done.
        package var waitingFor: [String]
    }

    private let pool: PostgresPool

    package init(_ pool: PostgresPool) { self.pool = pool }

    /// The evidence of reports about the person goes with them. Reports by the person keep reason and status. Nobody reports guests.
    package static func forget(
        _ principal: PrincipalID, in transaction: borrowing Transaction
    ) async throws(StoreError) {
        let identity: WhisperID
        switch principal {
        case .identity(let one): identity = one
        case .guest(let guest):
            try await transaction.execute("DELETE FROM auth.guest_bans WHERE guest_id = \(guest)")
            return
        }
        var pipeline = Pipeline()
        pipeline.add("DELETE FROM auth.bans WHERE whisper_id = \(identity)")
        pipeline.add("DELETE FROM auth.reports WHERE target = \(identity)")
        pipeline.add(
            """
            UPDATE auth.reports SET reporter = NULL, note = NULL, evidence = NULL, review_note = NULL
            WHERE reporter = \(identity)
            """)
        _ = try await transaction.pipeline(pipeline)
    }

    /// Keeps other operators from ordering erasures until the transaction's end: they are counted.
    static let lock: SQL = "SELECT pg_advisory_xact_lock(hashtextextended('auth.erasures', 0))"

    /// Erasures that operators have ordered within these times.
    static func ordered(at now: StoreTime) -> Statement<(hour: Int64, day: Int64)> {
        Statement(
            """
            SELECT count(*) FILTER (WHERE decided_at > \(now - .seconds(3_600))), count(*) FROM auth.erasures
            WHERE by = 'operator' AND decided_at > \(now - .seconds(86_400))
            """,
            decode: { rows throws(StoreError) in
                var row = rows[0]
                return (try row.next(), try row.next())
            })
    }

    /// The open erasure of an identity, or of a guest that has not come back meanwhile.
    static func open(
        of principal: PrincipalID
    ) -> Statement<(id: UUIDText, number: Int64, decidedAt: Timestamp)?> {
        let whose: SQL =
            switch principal {
            case .identity(let identity):
                "SELECT erasure_id, number, decided_at FROM auth.erasures WHERE whisper_id = \(identity)"
            case .guest(let guest):
                """
                SELECT erasure_id, number, decided_at FROM auth.erasures
                WHERE guest_id = \(guest) AND NOT EXISTS (SELECT FROM auth.guests WHERE guest_id = \(guest))
                """
            }
        return Statement(
            whose,
            first: { row throws(StoreError) in
                (UUIDText(try row.next(PostgresUUID.self)), try row.next(), try row.next())
            })
    }

    /// Newest first.
    package func list(before cursor: Cursor?, limit: Int) async throws(StoreError) -> [Entry] {
        try await self.pool.query(
            Statement(
                """
                SELECT \(unsafeText: Self.columns) FROM auth.erasures WHERE number < \(cursor?.after ?? .max)
                ORDER BY number DESC LIMIT \(Int64(limit))
                """, each: Self.entry))
    }

    /// Erasures that wait for a part, oldest first. Any number of guests may have asked for theirs, which come last.
    package func open(limit: Int) async throws(StoreError) -> [Entry] {
        try await self.pool.query(
            Statement(
                """
                SELECT \(unsafeText: Self.columns) FROM auth.erasures WHERE finished_at IS NULL
                ORDER BY by = 'guest', number LIMIT \(Int64(limit))
                """, each: Self.entry))
    }

    /// - Returns: `nil` if there is no such erasure.
    package func find(_ id: UUIDText) async throws(StoreError) -> Entry? {
        try await self.pool.query(
            Statement(
                "SELECT \(unsafeText: Self.columns) FROM auth.erasures WHERE erasure_id = \(PostgresUUID(id))",
                first: Self.entry))
    }

    private static let columns: StaticString = """
        erasure_id, number, by, decided_at, finished_at,
        ARRAY(SELECT p FROM unnest(auth.erasure_parts()) AS p WHERE NOT p = ANY (done))
        """

    @Sendable private static func entry(_ row: inout Row) throws(StoreError) -> Entry {
        Entry(
            id: UUIDText(try row.next(PostgresUUID.self)), number: try row.next(), origin: try row.next(),
            decidedAt: try row.next(), finishedAt: try row.next(), waitingFor: try row.next())
    }
}
