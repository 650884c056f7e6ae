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
        package var hasEvidence: Bool
        package var status: String
        package var createdAt: Timestamp
        package var reviewedAt: Timestamp?
    }

    private let pool: PostgresPool

    package init(_ pool: PostgresPool) { self.pool = pool }

    /// Doing it twice with the same id changes nothing.
    /// - Parameter evidence: checked.
    package func add(
        _ id: UUIDText, by reporter: WhisperID, _ report: Report, evidence: [UInt8]?, at now: Timestamp,
        in transaction: borrowing Transaction
    ) async throws(StoreError) {
        try await transaction.execute(
            """
            INSERT INTO auth.reports (id, reporter, target, reason, note, evidence, created_at)
            VALUES (\(PostgresUUID(id)), \(reporter), \(report.targetID), \(report.reason.rawValue), \(report.note),
                \(evidence), \(now))
            ON CONFLICT (id) DO NOTHING
            """)
    }

    /// The latest review counts.
    /// - Returns: whom and what it is about; nil if there is no such report.
    package func review(
        _ id: UUIDText, as status: AdminOperations.ReportStatus, note: String?, at now: Timestamp,
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
            SELECT number, id, reporter, target, reason, note, evidence IS NOT NULL, status, created_at, reviewed_at
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
                    target: try row.next(), reason: try row.next(), note: try row.next(), hasEvidence: try row.next(),
                    status: try row.next(), createdAt: try row.next(), reviewedAt: try row.next()))
        }
        return entries
    }
}
