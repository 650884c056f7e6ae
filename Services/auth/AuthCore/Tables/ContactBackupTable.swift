package import Contract
package import Store

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
        case written(revision: Int64)
    }

    /// What must be stored for a write to be done (RFC 9110, 13.1.1).
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

    /// - Parameter strangerBytesMax: ciphertext of an identity without any peer, in bytes.
    package func write(
        nonce: [UInt8], ciphertext: [UInt8], if condition: Condition, for caller: Caller, strangerBytesMax: Int,
        at now: Timestamp
    ) async throws(StoreError) -> Writing {
        // The router may not have made its function yet, and small ones need it not: they are asked without it.
        let question: StaticString =
            ciphertext.count <= strangerBytesMax ? "SELECT true AS may" : "SELECT router.has_peer(me.id) AS may"
        return try await self.pool.withTransaction { transaction throws(StoreError) in
            let callerStatus = try await self.identities.hold(caller, in: transaction)
            guard callerStatus == .live else { return .refused(callerStatus) }
            let rows: Rows
            switch condition {
            case .anything:
                rows = try await transaction.query(
                    """
                    WITH allowed AS MATERIALIZED (\(unsafeText: question) FROM (SELECT \(caller.identity)::int8) me (id)),
                    written AS (
                        INSERT INTO auth.contact_backups (whisper_id, nonce, ciphertext, revision, updated_at)
                        SELECT \(caller.identity), \(nonce), \(ciphertext), nextval('auth.backup_revisions'), \(now)
                        FROM allowed WHERE may
                        ON CONFLICT (whisper_id) DO UPDATE SET nonce = excluded.nonce, ciphertext = excluded.ciphertext,
                            revision = excluded.revision, updated_at = excluded.updated_at
                        RETURNING revision)
                    SELECT may, (SELECT revision FROM written) FROM allowed
                    """)
            case .exists, .revision:
                let revisions: [Int64] = if case .revision(let wanted) = condition { wanted } else { [] }
                rows = try await transaction.query(
                    """
                    WITH allowed AS MATERIALIZED (\(unsafeText: question) FROM (SELECT \(caller.identity)::int8) me (id)),
                    written AS (
                        UPDATE auth.contact_backups SET nonce = \(nonce), ciphertext = \(ciphertext),
                            revision = nextval('auth.backup_revisions'), updated_at = \(now)
                        FROM allowed
                        WHERE may AND whisper_id = \(caller.identity)
                            AND (\(condition == .exists) OR revision = ANY (\(revisions)))
                        RETURNING revision)
                    SELECT may, (SELECT revision FROM written) FROM allowed
                    """)
            }
            var row = rows[0]
            guard try row.next(Bool.self) else { return .tooLarge }
            return try row.next(Int64?.self).map { .written(revision: $0) } ?? .lostRace
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
