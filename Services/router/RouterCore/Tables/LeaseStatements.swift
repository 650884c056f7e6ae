import Contract
import Store

/// Who owns which partition: advisory locks on the very session that commits, so that nobody can commit without owning.
/// A router that dies loses its session and with it its partitions, at once; one that is frozen has its session ended
/// by another.
enum LeaseStatements {
    /// First key of the locks on partitions; the second is the partition.
    private static let partitions: Int32 = 7_001
    /// First key of the lock that says "I am a router"; the second is this session's process.
    private static let members: Int32 = 7_002

    static let join: SQL = "SELECT pg_try_advisory_lock(\(Self.members), pg_backend_pid())"

    static func take(_ partitions: [Partition]) -> SQL {
        let numbers = partitions.map { Int32($0.index) }
        return """
            SELECT g.partition FROM unnest(\(numbers)::int4[]) AS g (partition)
            WHERE pg_try_advisory_lock(\(Self.partitions), g.partition)
            """
    }

    static func giveUp(_ partitions: [Partition]) -> SQL {
        let numbers = partitions.map { Int32($0.index) }
        return """
            SELECT pg_advisory_unlock(\(Self.partitions), g.partition)
            FROM unnest(\(numbers)::int4[]) AS g (partition)
            """
    }

    /// Every lock: `(is a member's, second key, is this session's)`.
    static let all: SQL = """
        SELECT classid = \(Int64(Self.members))::oid, objid::int4, pid = pg_backend_pid()
        FROM pg_locks
        WHERE locktype = 'advisory' AND granted AND objsubid = 2
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
            AND classid IN (\(Int64(Self.partitions))::oid, \(Int64(Self.members))::oid)
        """

    /// Ends the sessions of routers that have said nothing for too long: every router asks for `all` once a second.
    static let endFrozen: SQL = """
        SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity a
        WHERE a.pid <> pg_backend_pid() AND a.state <> 'active'
            AND a.state_change < clock_timestamp() - make_interval(secs => \(Double(RouterLimits.frozenAfter.components.seconds)))
            AND a.pid IN (SELECT l.pid FROM pg_locks l
                WHERE l.locktype = 'advisory' AND l.granted AND l.classid = \(Int64(Self.members))::oid)
        """
}
