package import ClusterContract
package import Contract
package import Store

/// The only code that reads or writes `auth.bans` and `auth.guest_bans`. Each row stands for an identity or a guest that
/// `Identities` has marked as banned.
package struct BanTable: Sendable {
    package struct Entry: Equatable, Sendable {
        package var number: Int64
        package var principal: PrincipalID
        package var reason: String
        package var createdAt: Timestamp
        package var expiresAt: Timestamp?
    }

    private let pool: PostgresPool

    package init(_ pool: PostgresPool) { self.pool = pool }

    /// Adds a ban, or changes the one there is. The identity or guest exists.
    package func add(
        _ principal: PrincipalID, reason: String, until end: Timestamp?, at now: StoreTime,
        in transaction: borrowing Transaction
    ) async throws(StoreError) {
        switch principal {
        case .identity(let identity):
            try await transaction.execute(
                """
                INSERT INTO auth.bans (whisper_id, reason, created_at, expires_at)
                VALUES (\(identity), \(reason), \(now), \(end))
                ON CONFLICT (whisper_id) DO UPDATE
                SET reason = excluded.reason, created_at = excluded.created_at, expires_at = excluded.expires_at
                """)
        case .guest(let guest):
            try await transaction.execute(
                """
                INSERT INTO auth.guest_bans (guest_id, reason, created_at, expires_at)
                VALUES (\(guest), \(reason), \(now), \(end))
                ON CONFLICT (guest_id) DO UPDATE
                SET reason = excluded.reason, created_at = excluded.created_at, expires_at = excluded.expires_at
                """)
        }
    }

    /// Removes a ban. Doing it twice changes nothing.
    package func remove(_ principal: PrincipalID, in transaction: borrowing Transaction) async throws(StoreError) {
        switch principal {
        case .identity(let identity):
            try await transaction.execute("DELETE FROM auth.bans WHERE whisper_id = \(identity)")
        case .guest(let guest):
            try await transaction.execute("DELETE FROM auth.guest_bans WHERE guest_id = \(guest)")
        }
    }

    /// - Returns: `nil` if the identity's ban has no end, or there is none.
    package func end(of identity: WhisperID) async throws(StoreError) -> Timestamp? {
        let rows = try await self.pool.query("SELECT expires_at FROM auth.bans WHERE whisper_id = \(identity)")
        guard var row = rows.first else { return nil }
        return try row.next()
    }

    /// Whether `removeExpired` or `recent` would find something.
    package func hasExpired(at now: StoreTime, orRecent since: StoreTime) async throws(StoreError) -> Bool {
        try await self.pool.query(
            Statement(
                value: """
                    SELECT EXISTS (SELECT FROM auth.bans WHERE expires_at <= \(now))
                        OR EXISTS (SELECT FROM auth.guest_bans WHERE expires_at <= \(now))
                        OR EXISTS (SELECT FROM auth.bans WHERE created_at > \(since))
                        OR EXISTS (SELECT FROM auth.guest_bans WHERE created_at > \(since))
                    """))
    }

    /// Removes expired bans, a bounded number. Locks their identities and guests first, as erasures and bans do.
    /// One that another transaction has locked is left to the next sweep.
    package func removeExpired(
        at now: StoreTime, in transaction: borrowing Transaction
    ) async throws(StoreError) -> [PrincipalID] {
        let limit = Int64(OperatorsLimits.sweepBatch)
        let identities = try await transaction.query(
            Statement<[WhisperID]>(
                """
                SELECT whisper_id FROM auth.identities WHERE whisper_id IN (
                    SELECT whisper_id FROM auth.bans WHERE expires_at <= \(now) LIMIT \(limit))
                FOR NO KEY UPDATE SKIP LOCKED
                """, each: { row throws(StoreError) in try row.next() }))
        let guests = try await transaction.query(
            Statement<[GuestID]>(
                """
                SELECT guest_id FROM auth.guests WHERE guest_id IN (
                    SELECT guest_id FROM auth.guest_bans WHERE expires_at <= \(now) LIMIT \(limit))
                FOR NO KEY UPDATE SKIP LOCKED
                """, each: { row throws(StoreError) in try row.next() }))
        guard !identities.isEmpty || !guests.isEmpty else { return [] }
        // Under the locks: a ban may have got another end meanwhile.
        var removing = Pipeline()
        let freed = removing.add(
            Statement<[PrincipalID]>(
                """
                DELETE FROM auth.bans WHERE whisper_id = ANY (\(identities)::int8[]) AND expires_at <= \(now)
                RETURNING whisper_id
                """, each: { row throws(StoreError) in .identity(try row.next()) }))
        let freedGuests = removing.add(
            Statement<[PrincipalID]>(
                """
                DELETE FROM auth.guest_bans WHERE guest_id = ANY (\(guests)::uuid[]) AND expires_at <= \(now)
                RETURNING guest_id
                """, each: { row throws(StoreError) in .guest(try row.next()) }))
        let answers = try await transaction.pipeline(removing)
        return try answers[freed] + answers[freedGuests]
    }

    /// Identities and guests that were banned after `since`, with their epochs.
    package func recent(since: StoreTime) async throws(StoreError) -> [(principal: PrincipalID, epoch: Epoch)] {
        let rows = try await self.pool.query(
            """
            SELECT b.whisper_id, NULL::uuid, i.epoch, b.created_at
            FROM auth.bans b JOIN auth.identities i ON i.whisper_id = b.whisper_id WHERE b.created_at > \(since)
            UNION ALL
            SELECT NULL, b.guest_id, g.epoch, b.created_at
            FROM auth.guest_bans b JOIN auth.guests g ON g.guest_id = b.guest_id WHERE b.created_at > \(since)
            ORDER BY created_at DESC LIMIT \(Int64(OperatorsLimits.sweepBatch))
            """)
        var recent: [(principal: PrincipalID, epoch: Epoch)] = []
        for var row in rows {
            recent.append((try Self.principal(&row), Epoch(value: try row.next())))
        }
        return recent
    }

    /// Bans in force, newest first.
    package func list(before cursor: Cursor?, limit: Int, at now: StoreTime) async throws(StoreError) -> [Entry] {
        let before = cursor?.after ?? .max
        let rows = try await self.pool.query(
            """
            SELECT whisper_id, NULL::uuid, number, reason, created_at, expires_at FROM auth.bans
            WHERE number < \(before) AND (expires_at IS NULL OR expires_at > \(now))
            UNION ALL
            SELECT NULL, guest_id, number, reason, created_at, expires_at FROM auth.guest_bans
            WHERE number < \(before) AND (expires_at IS NULL OR expires_at > \(now))
            ORDER BY number DESC LIMIT \(Int64(limit))
            """)
        var entries: [Entry] = []
        for var row in rows {
            let principal = try Self.principal(&row)
            entries.append(
                Entry(
                    number: try row.next(), principal: principal, reason: try row.next(), createdAt: try row.next(),
                    expiresAt: try row.next()))
        }
        return entries
    }

    /// Reads the first two columns. One of them is set.
    private static func principal(_ row: inout Row) throws(StoreError) -> PrincipalID {
        let identity = try row.next(WhisperID?.self)
        let guest = try row.next(GuestID?.self)
        if let identity { return .identity(identity) }
        guard let guest else { throw .undecodable(column: 1) }
        return .guest(guest)
    }
}
