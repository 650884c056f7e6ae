package import ClusterContract
package import Contract
package import Store
package import Telemetry

/// The only code that reads or writes `auth.contact_backups`. Each call is fenced by the caller's epoch.
package struct ContactBackupTable: Sendable {
    package struct Backup: Equatable, Sendable {
        package var nonce: [UInt8]
        package var ciphertext: [UInt8]
        package var revision: Int64
        package var updatedAt: Timestamp
    }

    package enum Reading: Equatable, Sendable {
        /// The caller is not `live`.
        case refused(CallerStatus)
        case none
        case found(Backup)
    }

    package enum Writing: Equatable, Sendable {
        case refused(CallerStatus)
        /// The backup is not the one that the caller thought it was.
        case lostRace
        /// So much may only be kept by whoever has a peer.
        case tooLarge
        /// All strangers together keep as much as they may.
        case noRoom
        case written(revision: Int64)
    }

    /// The stored state that a write requires (RFC 9110, 13.1.1).
    package enum Condition: Equatable, Sendable {
        case anything
        /// It is one of these.
        case revision([Int64])
        /// There is a backup.
        case exists
    }

    private let pool: PostgresPool
    private let identities: IdentityTable

    package init(_ pool: PostgresPool) {
        self.pool = pool
        self.identities = IdentityTable(pool)
    }

    package func read(for caller: Caller) async throws(StoreError) -> Reading {
        let rows = try await self.pool.query(
            """
            SELECT i.is_banned, b.nonce, b.ciphertext, b.revision, b.updated_at
            FROM auth.identities i LEFT JOIN auth.contact_backups b ON b.whisper_id = i.whisper_id
            WHERE i.whisper_id = \(caller.identity) AND i.epoch = \(caller.epoch.value)
            """)
        guard var row = rows.first else { return .refused(.stale) }
        if try row.next(Bool.self) { return .refused(.banned) }
        guard let nonce = try row.next([UInt8]?.self), let ciphertext = try row.next([UInt8]?.self) else {
            return .none
        }
        return .found(
            Backup(nonce: nonce, ciphertext: ciphertext, revision: try row.next(), updatedAt: try row.next()))
    }

    /// - Parameters:
    ///   - strangerBytesMax: ciphertext of an identity without any peer, in bytes.
    ///   - strangersBytesMax: ciphertext of all such identities together.
    package func write(
        nonce: [UInt8], ciphertext: [UInt8], if condition: Condition, for caller: Caller, strangerBytesMax: Int,
        strangersBytesMax: Int, at now: Timestamp
    ) async throws(StoreError) -> Writing {
        let bytes = Int64(ciphertext.count)
        return try await self.pool.withTransaction { transaction throws(StoreError) in
            let callerStatus = try await self.identities.hold(caller, in: transaction)
            guard callerStatus == .live else { return .refused(callerStatus) }
            let rows: Rows
            switch condition {
            case .anything:
                rows = try await transaction.query(
                    """
                    WITH judged AS MATERIALIZED (
                        SELECT auth.may_keep(ARRAY[\(caller.identity)::int8], 'backups', \(bytes), \(Int64(strangerBytesMax)),
                            \(Int64(strangersBytesMax))) AS verdict),
                    written AS (
                        INSERT INTO auth.contact_backups (whisper_id, nonce, ciphertext, revision, updated_at)
                        SELECT \(caller.identity), \(nonce), \(ciphertext), nextval('auth.backup_revisions'), \(now)
                        FROM judged WHERE verdict = 0
                        ON CONFLICT (whisper_id) DO UPDATE SET nonce = excluded.nonce, ciphertext = excluded.ciphertext,
                            revision = excluded.revision, updated_at = excluded.updated_at, of_stranger = true
                        RETURNING revision)
                    SELECT verdict, (SELECT revision FROM written) FROM judged
                    """)
            case .exists, .revision:
                let revisions: [Int64] = if case .revision(let wanted) = condition { wanted } else { [] }
                rows = try await transaction.query(
                    """
                    WITH judged AS MATERIALIZED (
                        SELECT auth.may_keep(ARRAY[\(caller.identity)::int8], 'backups', \(bytes), \(Int64(strangerBytesMax)),
                            \(Int64(strangersBytesMax))) AS verdict),
                    written AS (
                        UPDATE auth.contact_backups SET nonce = \(nonce), ciphertext = \(ciphertext),
                            revision = nextval('auth.backup_revisions'), updated_at = \(now), of_stranger = true
                        FROM judged
                        WHERE verdict = 0 AND whisper_id = \(caller.identity)
                            AND (\(condition == .exists) OR revision = ANY (\(revisions)))
                        RETURNING revision)
                    SELECT verdict, (SELECT revision FROM written) FROM judged
                    """)
            }
            var row = rows[0]
            switch StrangerVerdict(rawValue: try row.next()) {
            case .may: return try row.next(Int64?.self).map { .written(revision: $0) } ?? .lostRace
            case .tooMuch: return .tooLarge
            case .noRoom: return .noRoom
            case nil: throw .undecodable(column: 0)
            }
        }
    }

    /// Removing it twice changes nothing.
    /// - Returns: `live` when there is no backup any more; otherwise nothing was done.
    package func remove(for caller: Caller) async throws(StoreError) -> CallerStatus {
        try await self.pool.withTransaction { transaction throws(StoreError) in
            let callerStatus = try await self.identities.hold(caller, in: transaction)
            guard callerStatus == .live else { return callerStatus }
            try await transaction.execute("DELETE FROM auth.contact_backups WHERE whisper_id = \(caller.identity)")
            return .live
        }
    }
}

extension ContactBackupTable: StrangerTable {
    package static let store = StrangerStore.backups
    package static let firstKey = "-1"

    package func relieve(after key: String, limit: Int) async throws(StoreError) -> String? {
        try await self.pool.query(
            """
            WITH page AS MATERIALIZED (
                SELECT whisper_id FROM auth.contact_backups
                WHERE of_stranger AND whisper_id > \(key)::text::int8 ORDER BY whisper_id LIMIT \(Int64(limit))
            ), known AS (
                UPDATE auth.contact_backups b SET of_stranger = false FROM page
                WHERE b.whisper_id = page.whisper_id AND auth.has_peer(page.whisper_id)
            )
            SELECT max(whisper_id)::text FROM page HAVING count(*) > 0
            """
        ).first?.decode(0)
    }

    package func recount(olderThan age: Duration) async throws(StoreError) {
        try await self.pool.execute(
            """
            UPDATE auth.stranger_bytes SET counted_at = now(), bytes = (
                SELECT coalesce(sum(size_bytes), 0)::int8 FROM auth.contact_backups WHERE of_stranger)
            WHERE store = 'backups' AND counted_at <= \(StoreTime.now - age)
            """)
    }

    package func counted() async throws(StoreError) -> Int64 {
        try await self.pool.query("SELECT bytes FROM auth.stranger_bytes WHERE store = 'backups'")[0].decode(0)
    }
}
