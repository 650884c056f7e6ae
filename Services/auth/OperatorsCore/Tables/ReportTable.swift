package import Contract
package import Store
package import Telemetry

/// The only code that reads or writes `auth.reports`.
package struct ReportTable: Sendable {
    package struct Entry: Equatable, Sendable {
        package var number: Int64
        package var id: UUIDText
        /// `nil`: the reporter was erased.
        package var reporter: WhisperID?
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

    /// The outcome of filing a report.
    package enum Filing: Int16, Sendable {
        /// It is stored now, or was before.
        case filed = 0
        /// The ledger does not know the message, and there is more of it than an invented one may have.
        case unknownAndLarge = 1
        /// The reporter has too many open reports, or too much evidence in them.
        case tooMany = 2
        /// All reporters without a peer together keep as much as they may.
        case noRoom = 3
        /// The target is not there, or was erased a moment ago.
        case unknownTarget = 4
    }

    /// Adds a report, if its reporter's open ones stay within their bounds. Doing it twice with one id changes nothing.
    ///
    /// A lock makes concurrent reports of one reporter wait for each other, so that the count holds. The target's erasure
    /// waits for the commit.
    /// - Parameters:
    ///   - evidence: its signature was checked.
    ///   - isVerified: whether the router's ledger knows the message.
    package func add(
        _ id: UUIDText, by reporter: WhisperID, _ report: Report, evidence: [UInt8]?, isVerified: Bool,
        within bounds: OperatorsConfiguration, at now: StoreTime, in transaction: borrowing Transaction
    ) async throws(StoreError) -> Filing {
        let bytes = Int64(evidence?.count ?? 0)
        var pipeline = Pipeline()
        pipeline.add("SELECT pg_advisory_xact_lock(hashtextextended('reports of', \(reporter)))")
        let filing = pipeline.add(
            Statement<Filing>(
                """
                WITH open AS (
                    SELECT count(*) AS reports, coalesce(sum(octet_length(evidence)), 0)::int8 AS bytes
                    FROM auth.reports WHERE reporter = \(reporter) AND status = 'open'
                ), target AS MATERIALIZED (
                    SELECT FROM auth.identities WHERE whisper_id = \(report.targetID) FOR KEY SHARE
                ), judged AS MATERIALIZED (
                    SELECT CASE
                        WHEN NOT EXISTS (SELECT FROM target) THEN 4
                        WHEN EXISTS (SELECT FROM auth.reports WHERE id = \(PostgresUUID(id))) THEN 0
                        WHEN \(bytes) > \(Int64(bounds.unknownEvidenceBytesMax)) AND NOT \(isVerified) THEN 1
                        WHEN reports >= \(Int64(bounds.openReportsMax)) THEN 2
                        WHEN \(bytes) > 0 AND bytes + \(bytes) > \(Int64(bounds.openEvidenceBytesMax)) THEN 2
                        WHEN auth.may_keep(
                            ARRAY[\(reporter)::int8], 'evidence', \(bytes), \(bytes), \(Int64(bounds.strangersBytesMax))) <> 0 THEN 3
                        ELSE 0 END AS filing
                    FROM open
                ), stored AS (
                    INSERT INTO auth.reports (id, reporter, target, reason, note, evidence, evidence_verified, created_at)
                    SELECT \(PostgresUUID(id)), \(reporter), \(report.targetID), \(report.reason.rawValue), \(report.note),
                        \(evidence), \(isVerified), \(now)
                    FROM judged WHERE filing = 0
                    ON CONFLICT (id) DO NOTHING
                )
                SELECT filing::int2 FROM judged
                """,
                decode: { rows throws(StoreError) in
                    guard let filing = Filing(rawValue: try rows[0].decode(0)) else { throw .undecodable(column: 0) }
                    return filing
                }))
        return try await transaction.pipeline(pipeline)[filing]
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

    /// Locks the target of a report that is to be banned.
    ///
    /// Comes before the report is locked: erasures lock the identity first.
    static func lock(targetOf id: UUIDText) -> SQL {
        """
        SELECT FROM auth.identities WHERE whisper_id = (
            SELECT target FROM auth.reports WHERE id = \(PostgresUUID(id))) FOR NO KEY UPDATE
        """
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

extension ReportTable: StrangerTable {
    package static let store = StrangerStore.evidence
    package static let firstKey = "-1"

    package func relieve(after key: String, limit: Int) async throws(StoreError) -> String? {
        try await self.pool.query(
            """
            WITH page AS MATERIALIZED (
                SELECT number, reporter FROM auth.reports
                WHERE of_stranger AND number > \(key)::text::int8 ORDER BY number LIMIT \(Int64(limit))
            ), known AS (
                UPDATE auth.reports r SET of_stranger = false FROM page
                WHERE r.number = page.number AND auth.has_peer(page.reporter)
            )
            SELECT max(number)::text FROM page HAVING count(*) > 0
            """
        ).first?.decode(0)
    }

    package func recount(olderThan age: Duration) async throws(StoreError) {
        try await self.pool.execute(
            """
            UPDATE auth.stranger_bytes SET counted_at = now(), bytes = (
                SELECT coalesce(sum(size_bytes), 0)::int8 FROM auth.reports WHERE of_stranger)
            WHERE store = 'evidence' AND counted_at <= \(StoreTime.now - age)
            """)
    }

    package func counted() async throws(StoreError) -> Int64 {
        try await self.pool.query("SELECT bytes FROM auth.stranger_bytes WHERE store = 'evidence'")[0].decode(0)
    }
}
