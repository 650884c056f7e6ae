package import Contract
package import Store

/// The only code that reads or writes `auth.bans`. Each row stands for an identity that `Identities` has marked as banned.
package struct BanTable: Sendable {
    package struct Entry: Equatable, Sendable {
        package var number: Int64
        package var identity: WhisperID
        package var reason: String
        package var createdAt: Timestamp
        package var expiresAt: Timestamp?
    }

    private let pool: PostgresPool

    package init(_ pool: PostgresPool) { self.pool = pool }

    /// Adds a ban, or changes the one there is. The identity exists.
    package func add(
        _ identity: WhisperID, reason: String, until end: Timestamp?, at now: StoreTime,
        in transaction: borrowing Transaction
    ) async throws(StoreError) {
        try await transaction.execute(
            """
            INSERT INTO auth.bans (whisper_id, reason, created_at, expires_at)
            VALUES (\(identity), \(reason), \(now), \(end))
            ON CONFLICT (whisper_id) DO UPDATE
            SET reason = excluded.reason, created_at = excluded.created_at, expires_at = excluded.expires_at
            """)
    }

    /// Removes a ban. Doing it twice changes nothing.
    package func remove(_ identity: WhisperID, in transaction: borrowing Transaction) async throws(StoreError) {
        try await transaction.execute("DELETE FROM auth.bans WHERE whisper_id = \(identity)")
    }

    /// Bans that are over by now, a bounded number, locked until the commit. Those that another process has locked are skipped.
    package func expired(at now: StoreTime, in transaction: borrowing Transaction) async throws(StoreError) -> [WhisperID] {
        let rows = try await transaction.query(
            """
            SELECT whisper_id FROM auth.bans WHERE expires_at <= \(now)
            LIMIT \(Int64(OperatorsLimits.sweepBatch)) FOR UPDATE SKIP LOCKED
            """)
        return try rows.map { row throws(StoreError) in try row.decode(0) }
    }

    /// Whoever was banned since then, with the identity's epoch.
    package func recent(since: StoreTime) async throws(StoreError) -> [(identity: WhisperID, epoch: Epoch)] {
        let rows = try await self.pool.query(
            """
            SELECT b.whisper_id, i.epoch FROM auth.bans b JOIN auth.identities i ON i.whisper_id = b.whisper_id
            WHERE b.created_at > \(since) ORDER BY b.created_at DESC LIMIT \(Int64(OperatorsLimits.sweepBatch))
            """)
        return try rows.map { row throws(StoreError) in (try row.decode(0), Epoch(value: try row.decode(1))) }
    }

    /// Those that hold, newest first.
    package func list(before cursor: Cursor?, limit: Int, at now: StoreTime) async throws(StoreError) -> [Entry] {
        let rows = try await self.pool.query(
            """
            SELECT number, whisper_id, reason, created_at, expires_at FROM auth.bans
            WHERE number < \(cursor?.after ?? .max) AND (expires_at IS NULL OR expires_at > \(now))
            ORDER BY number DESC LIMIT \(Int64(limit))
            """)
        var entries: [Entry] = []
        for var row in rows {
            entries.append(
                Entry(
                    number: try row.next(), identity: try row.next(), reason: try row.next(), createdAt: try row.next(),
                    expiresAt: try row.next()))
        }
        return entries
    }
}
