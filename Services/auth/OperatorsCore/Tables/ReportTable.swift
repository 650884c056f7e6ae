package import Contract
package import Store

/// The only code that reads or writes `auth.reports`.
package struct ReportTable: Sendable {
    package struct Entry: Equatable, Sendable {
        package var number: Int64
        package var id: UUIDText
        package var reporter: WhisperID
        package var target: WhisperID
        package var reason: String
        package var note: String?
        /// `verified` stays so when `sweep` has removed the evidence.
        package var evidence: Evidence.Verification
        package var status: String
        package var createdAt: Timestamp
        package var reviewedAt: Timestamp?
    }

    private let pool: PostgresPool

    package init(_ pool: PostgresPool) { self.pool = pool }

    /// Adds a report, if its reporter has fewer than `openMax` open ones. Doing it twice with one id changes nothing.
    ///
    /// A lock makes concurrent reports of one reporter wait for each other, so that the count holds.
    /// - Parameters:
    ///   - evidence: its signature was checked.
    ///   - isVerified: whether the router's ledger knows the message.
    /// - Returns: whether the report is stored now.
    package func add(
        _ id: UUIDText, by reporter: WhisperID, _ report: Report, evidence: [UInt8]?, isVerified: Bool, openMax: Int,
        at now: StoreTime, in transaction: borrowing Transaction
    ) async throws(StoreError) -> Bool {
        var pipeline = Pipeline()
        pipeline.add("SELECT pg_advisory_xact_lock(hashtextextended('reports of', \(reporter)))")
        pipeline.add(
            """
            INSERT INTO auth.reports (id, reporter, target, reason, note, evidence, evidence_verified, created_at)
            SELECT \(PostgresUUID(id)), \(reporter), \(report.targetID), \(report.reason.rawValue), \(report.note),
                \(evidence), \(isVerified), \(now)
            WHERE \(Int64(openMax)) > (SELECT count(*) FROM auth.reports WHERE reporter = \(reporter) AND status = 'open')
            ON CONFLICT (id) DO NOTHING
            """)
        let isStored = pipeline.add(
            Statement<Bool>(value: "SELECT EXISTS (SELECT FROM auth.reports WHERE id = \(PostgresUUID(id)))"))
        return try await transaction.pipeline(pipeline)[isStored]
    }

    /// Removes evidence and reports that were reviewed before then, up to `limit` of each. Open reports stay.
    ///
    /// Rows that another sweep has locked are skipped.
    /// - Returns: the larger of the two counts.
    package func sweep(
        evidenceReviewedBefore evidenceEnd: StoreTime, reviewedBefore end: StoreTime, limit: Int
    ) async throws(StoreError) -> Int {
        var pipeline = Pipeline()
        let removed = pipeline.add(
            Statement(
                affecting: """
                    DELETE FROM auth.reports WHERE id IN (
                        SELECT id FROM auth.reports WHERE reviewed_at <= \(end) LIMIT \(Int64(limit)) FOR UPDATE SKIP LOCKED)
                    """))
        let cleared = pipeline.add(
            Statement(
                affecting: """
                    UPDATE auth.reports SET evidence = NULL WHERE id IN (
                        SELECT id FROM auth.reports WHERE evidence IS NOT NULL AND reviewed_at <= \(evidenceEnd)
                        LIMIT \(Int64(limit)) FOR UPDATE SKIP LOCKED)
                    """))
        let changed = try await self.pool.pipeline(pipeline)
        return max(try changed[removed], try changed[cleared])
    }

    /// Stores a review, in place of an earlier one.
    /// - Returns: the report's target and reason; nil if there is no such report.
    package func review(
        _ id: UUIDText, as status: AdminOperations.ReportStatus, note: String?, at now: StoreTime,
        in transaction: borrowing Transaction
    ) async throws(StoreError) -> (target: WhisperID, reason: String)? {
        let rows = try await transaction.query(
            """
            UPDATE auth.reports SET status = \(status.rawValue), reviewed_at = \(now), review_note = \(note)
            WHERE id = \(PostgresUUID(id)) RETURNING target, reason
            """)
        guard var row = rows.first else { return nil }
        return (try row.next(), try row.next())
    }

    /// Newest first.
    /// - Parameter status: nil for all.
    package func list(
        _ status: AdminOperations.ReportStatus?, before cursor: Cursor?, limit: Int
    ) async throws(StoreError) -> [Entry] {
        let rows = try await self.pool.query(
            """
            SELECT number, id, reporter, target, reason, note, evidence IS NOT NULL, evidence_verified, status, created_at,
                reviewed_at
            FROM auth.reports
            WHERE number < \(cursor?.after ?? .max) AND (\(status?.rawValue)::text IS NULL OR status = \(status?.rawValue))
            ORDER BY number DESC LIMIT \(Int64(limit))
            """)
        var entries: [Entry] = []
        for var row in rows {
            let number: Int64 = try row.next()
            let id: PostgresUUID = try row.next()
            entries.append(
                Entry(
                    number: number, id: UUIDText(high: id.high, low: id.low), reporter: try row.next(),
                    target: try row.next(), reason: try row.next(), note: try row.next(),
                    evidence: Evidence.Verification(isThere: try row.next(), isVerified: try row.next()),
                    status: try row.next(), createdAt: try row.next(), reviewedAt: try row.next()))
        }
        return entries
    }
}
