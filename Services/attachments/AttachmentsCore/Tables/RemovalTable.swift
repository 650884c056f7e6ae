package import Contract
package import Store

/// The collector's view of `attachments.attachments`: what is examined, marked, and at last removed.
///
/// Marking and removing are apart, so that a process may die between any two steps: what is marked is found again, and the store
/// is asked again to remove it.
package struct RemovalTable: Sendable {
    private let pool: PostgresPool

    package init(_ pool: PostgresPool) { self.pool = pool }

    package struct Examined: Sendable {
        package var number: Int64
        package var usage: Retention.Usage
        /// When it was read, by the clock that wrote its times.
        package var at: Timestamp
    }

    /// An attachment that is to leave the store.
    package struct Marked: Sendable {
        package var number: Int64
        package var key: ObjectKey
        package var sizeBytes: Int64
        package var upload: String?
        package var wasUploaded: Bool
    }

    /// Numbers of the next attachments that nobody is removing.
    package func numbers(after number: Int64, limit: Int) async throws(StoreError) -> [Int64] {
        let rows = try await self.pool.query(
            """
            SELECT number FROM attachments.attachments WHERE number > \(number) AND state < 3
            ORDER BY number LIMIT \(Int64(limit))
            """)
        return try rows.map { row throws(StoreError) in try row.decode(0) }
    }

    /// Where these stand, with what the router knows by now.
    package func examine(_ numbers: [Int64], at now: StoreTime) async throws(StoreError) -> [Examined] {
        var pipeline = Pipeline()
        pipeline.add(LinkTable.acknowledge(numbers))
        let examined = pipeline.add(Self.usage(numbers, at: now))
        return try await self.pool.pipeline(pipeline)[examined]
    }

    /// Marks the given attachments that are still to be removed, when nobody can link or fetch them any more.
    /// Attachments locked by another transaction stay for the next run.
    package func mark(
        _ numbers: [Int64], at now: StoreTime, if isToBeRemoved: @Sendable (Examined) -> Bool
    ) async throws(StoreError) {
        try await self.pool.withTransaction { transaction throws(StoreError) in
            // First the locks, then a look: a statement does not see what was committed while it ran.
            let locked = try await transaction.query(
                """
                SELECT number FROM attachments.attachments WHERE number = ANY (\(numbers)::int8[]) AND state < 3
                ORDER BY number FOR UPDATE SKIP LOCKED
                """)
            let mine = try locked.map { row throws(StoreError) in try row.decode(0, as: Int64.self) }
            let unused = try await transaction.query(Self.usage(mine, at: now)).filter(isToBeRemoved).map(\.number)
            try await transaction.execute(Self.marking(unused))
        }
    }

    /// Marks what the store does not have.
    package func mark(dangling keys: [String]) async throws(StoreError) {
        _ = try await self.pool.execute(
            """
            UPDATE attachments.attachments SET state = 3, check_at = NULL
            WHERE object_key = ANY (\(keys)::text[]) AND state < 3
            """)
    }

    /// Marked ones, for this process to remove until then. Nobody else gets them before.
    package func take(until: StoreTime, limit: Int, at now: StoreTime) async throws(StoreError) -> [Marked] {
        let rows = try await self.pool.query(
            """
            UPDATE attachments.attachments SET claimed_until = \(until)
            WHERE number IN (
                SELECT number FROM attachments.attachments
                WHERE state = 3 AND (claimed_until IS NULL OR claimed_until <= \(now))
                ORDER BY number LIMIT \(Int64(limit)) FOR UPDATE SKIP LOCKED)
            RETURNING number, object_key, size_bytes, upload_id, uploaded_at IS NOT NULL
            """)
        var marked: [Marked] = []
        for var row in rows {
            marked.append(
                Marked(
                    number: try row.next(), key: try AttachmentTable.key(try row.next()), sizeBytes: try row.next(),
                    upload: try row.next(), wasUploaded: try row.next()))
        }
        return marked
    }

    /// The store has removed these.
    /// - Returns: those whose row went now; nobody else counts them.
    package func remove(_ numbers: [Int64]) async throws(StoreError) -> Set<Int64> {
        let rows = try await self.pool.query(
            """
            DELETE FROM attachments.attachments WHERE number = ANY (\(numbers)::int8[]) AND state = 3 RETURNING number
            """)
        return Set(try rows.map { row throws(StoreError) in try row.decode(0, as: Int64.self) })
    }

    private static func marking(_ numbers: [Int64]) -> SQL {
        "UPDATE attachments.attachments SET state = 3, check_at = NULL WHERE number = ANY (\(numbers)::int8[])"
    }

    private static func usage(_ numbers: [Int64], at now: StoreTime) -> Statement<[Examined]> {
        Statement(
            """
            SELECT a.number, a.created_at, a.uploaded_at, a.expires_at, count(l.attachment),
                count(l.attachment) FILTER (WHERE l.acknowledged_at IS NULL),
                count(l.attachment) FILTER (WHERE l.fetched_at IS NULL),
                max(l.linked_at), max(l.acknowledged_at), max(l.fetched_at), \(now)
            FROM attachments.attachments a LEFT JOIN attachments.links l ON l.attachment = a.number
            WHERE a.number = ANY (\(numbers)::int8[])
            GROUP BY a.number
            """, each: Self.examined)
    }

    private static func examined(_ row: inout Row) throws(StoreError) -> Examined {
        let number: Int64 = try row.next()
        var usage = Retention.Usage(createdAt: try row.next(), uploadedAt: try row.next(), expiresAt: try row.next())
        usage.links = Int(try row.next(Int64.self))
        usage.unacknowledged = Int(try row.next(Int64.self))
        usage.unfetched = Int(try row.next(Int64.self))
        usage.lastLinkedAt = try row.next()
        usage.lastAcknowledgedAt = try row.next()
        usage.lastFetchedAt = try row.next()
        return Examined(number: number, usage: usage, at: try row.next())
    }
}
