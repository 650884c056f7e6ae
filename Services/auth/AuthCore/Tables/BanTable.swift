package import Contract
package import Store

/// The only code that reads or writes `auth.bans`, and with it `is_banned` of an identity.
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

    /// Bans, or changes the ban there is. Locks the identity, so that no login is under way at the commit.
    /// - Returns: the identity's epoch; nil if there is no such identity.
    package func add(
        _ identity: WhisperID, reason: String, until end: Timestamp?, at now: StoreTime,
        in transaction: borrowing Transaction
    ) async throws(StoreError) -> Epoch? {
        let rows = try await transaction.query(
            "UPDATE auth.identities SET is_banned = true WHERE whisper_id = \(identity) RETURNING epoch")
        guard let row = rows.first else { return nil }
        try await transaction.execute(
            """
            INSERT INTO auth.bans (whisper_id, reason, created_at, expires_at)
            VALUES (\(identity), \(reason), \(now), \(end))
            ON CONFLICT (whisper_id) DO UPDATE
            SET reason = excluded.reason, created_at = excluded.created_at, expires_at = excluded.expires_at
            """)
        return Epoch(value: try row.decode(0))
    }

    /// - Returns: whether the identity exists. It need not have been banned.
    package func remove(_ identity: WhisperID, in transaction: borrowing Transaction) async throws(StoreError) -> Bool {
        let rows = try await transaction.pipeline([
            "UPDATE auth.identities SET is_banned = false WHERE whisper_id = \(identity) RETURNING 1",
            "DELETE FROM auth.bans WHERE whisper_id = \(identity)",
        ])
        return !rows[0].isEmpty
    }

    /// Bans that are over by now, a bounded number. Locked until the commit; those that another process is at are left to it.
    package func expired(at now: StoreTime, in transaction: borrowing Transaction) async throws(StoreError) -> [WhisperID] {
        let rows = try await transaction.query(
            """
            SELECT whisper_id FROM auth.bans WHERE expires_at <= \(now)
            LIMIT \(Int64(AuthLimits.sweepBatch)) FOR UPDATE SKIP LOCKED
            """)
        return try rows.map { row throws(StoreError) in try row.decode(0) }
    }

    /// Who has been banned since, with the epoch that was the last.
    package func recent(since: StoreTime) async throws(StoreError) -> [(identity: WhisperID, epoch: Epoch)] {
        let rows = try await self.pool.query(
            """
            SELECT b.whisper_id, i.epoch FROM auth.bans b JOIN auth.identities i ON i.whisper_id = b.whisper_id
            WHERE b.created_at > \(since) ORDER BY b.created_at DESC LIMIT \(Int64(AuthLimits.sweepBatch))
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
