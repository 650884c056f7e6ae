package import Store

/// The cluster's processes and the backup, as the database sees them. Reads, and writes nothing.
package struct HealthViews: Sendable {
    /// The connection by which the backup takes what is committed.
    package struct Backup: Equatable, Sendable {
        package var isConnected: Bool
        /// Bytes of WAL that it has not confirmed yet; `nil` if Postgres does not keep them for it any more.
        package var bytesBehind: Int64?
    }

    private let pool: PostgresPool

    package init(_ pool: PostgresPool) { self.pool = pool }

    /// Processes with a connection to this database, in order. A gateway has none.
    package func processes() async throws(StoreError) -> [ProcessName] {
        let rows = try await self.pool.query(
            """
            SELECT DISTINCT application_name FROM pg_stat_activity
            WHERE datname = current_database() AND application_name LIKE 'whisper-%' LIMIT \(Int64(Self.namesMax))
            """)
        let names = try rows.map { row throws(StoreError) in try row.decode(0, as: String.self) }
        return names.compactMap { ProcessName($0) }.sorted()
    }

    /// - Returns: `nil` if no backup has ever connected.
    package func backup() async throws(StoreError) -> Backup? {
        let rows = try await self.pool.query(
            """
            SELECT active, pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)::bigint
            FROM pg_replication_slots WHERE slot_name = 'whisper_backup'
            """)
        guard var row = rows.first else { return nil }
        return Backup(isConnected: try row.next(), bytesBehind: try row.next())
    }

    /// Messages that routers have ever stored; `nil` if the router has not made its tables.
    package func stored() async throws(StoreError) -> Int64? {
        guard try await self.pool.canRead("router", "mail_counter") else { return nil }
        return try await self.pool.query("SELECT stored FROM router.mail_counter")[0].decode(0)
    }

    /// Names that are read: several connections of a process have one.
    private static let namesMax = 10_000
}
