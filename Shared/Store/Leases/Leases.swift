/// Ownership of shares of some work: advisory locks on the very session that commits, so that nobody can commit
/// without owning. A process that dies loses its session and with it its shares, at once. Another process ends the
/// session of a frozen one. Here are the statements; the owner runs them on its own connection.
package struct Leases: Sendable {
    /// First key of the locks on shares; the second is the share.
    private let shares: Int32
    /// First key of the lock that says "I take part"; the second is the session's process.
    private let members: Int32
    /// The number of all shares.
    private let count: Int
    /// A member whose session has said nothing for this long is taken for frozen. Every member asks for `all` more often.
    private let frozenAfter: Duration
    /// The same work was divided otherwise by an earlier release: first key of its locks, and how many shares it had.
    private let before: (namespace: Int32, count: Int)?
    /// First key of the locks that the release before takes for the same shares, each for all work on one share. An owner
    /// of this release shares such a lock with other owners of that share's work; one of the release before holds it
    /// alone.
    private let common: Int32?

    private init(
        namespace: Int32, count: Int, frozenAfter: Duration, before: (namespace: Int32, count: Int)? = nil,
        common: Int32? = nil
    ) {
        self.shares = namespace
        self.members = namespace + 1
        self.count = count
        self.frozenAfter = frozenAfter
        self.before = before
        self.common = common
    }

    /// Leases of mailboxes, among routers.
    package static func partitions(_ count: Int, frozenAfter: Duration) -> Leases {
        Leases(namespace: 7_007, count: count, frozenAfter: frozenAfter, before: (7_001, 32))
    }

    /// Leases of calls, among the processes of that service.
    package static func calls(_ count: Int, frozenAfter: Duration) -> Leases {
        Leases(namespace: 7_003, count: count, frozenAfter: frozenAfter)
    }

    /// First key of the locks of the release before, in which a share of live conversations was one of rooms, too.
    private static let liveWithRooms: Int32 = 7_005

    /// Leases of live conversations, among the processes of the same service.
    package static func live(_ count: Int, frozenAfter: Duration) -> Leases {
        Leases(namespace: 7_009, count: count, frozenAfter: frozenAfter, common: Self.liveWithRooms)
    }

    /// Leases of rooms, among the processes of the same service.
    package static func rooms(_ count: Int, frozenAfter: Duration) -> Leases {
        Leases(namespace: 7_011, count: count, frozenAfter: frozenAfter, common: Self.liveWithRooms)
    }

    /// Whether this session takes part. It does not while one of an earlier release owns shares of the same work, and that one
    /// owns nothing while this one takes part: all its locks are held in common by those who do.
    package var join: Statement<Bool> {
        Statement(
            value: """
                SELECT pg_try_advisory_lock(\(self.members), pg_backend_pid()) AND (
                    SELECT COALESCE(bool_and(pg_try_advisory_lock_shared(\(self.before?.namespace ?? 0), g.share)), true)
                    FROM generate_series(0, \(Int32(self.before?.count ?? 0) - 1)) AS g (share))
                """)
    }

    /// Belongs into one transaction with `ReplicationBarrier`: what an owner before has committed, and no standby has yet, is then
    /// behind us before we answer anything from it.
    /// The answer is which of them are this session's now.
    package func take(_ shares: [Int]) -> Statement<[Int]> {
        let numbers = shares.map { Int32($0) }
        let taking: SQL =
            if let common {
                """
                SELECT g.share FROM unnest(\(numbers)::int4[]) AS g (share)
                WHERE CASE
                    WHEN NOT pg_try_advisory_lock(\(self.shares), g.share) THEN false
                    WHEN pg_try_advisory_lock_shared(\(common), g.share) THEN true
                    ELSE NOT pg_advisory_unlock(\(self.shares), g.share) END
                """
            } else {
                """
                SELECT g.share FROM unnest(\(numbers)::int4[]) AS g (share)
                WHERE pg_try_advisory_lock(\(self.shares), g.share)
                """
            }
        return Statement(taking, each: { row throws(StoreError) in Int(try row.next(Int32.self)) })
    }

    package func giveUp(_ shares: [Int]) -> SQL {
        let numbers = shares.map { Int32($0) }
        guard let common else {
            return """
                SELECT pg_advisory_unlock(\(self.shares), g.share)
                FROM unnest(\(numbers)::int4[]) AS g (share)
                """
        }
        return """
            SELECT pg_advisory_unlock(\(self.shares), g.share)
            FROM unnest(\(numbers)::int4[]) AS g (share)
            WHERE pg_advisory_unlock_shared(\(common), g.share)
            """
    }

    /// Reads every lock. An owner asks in one transaction with `ReplicationBarrier`: a primary that is cut off from its
    /// standbys never answers. Another process may then own the same on the next primary.
    package var all: Statement<Snapshot> {
        // An owner of the release before holds its lock alone: that share is taken.
        let before = Int64(self.common ?? self.shares)
        return Statement(
            """
            SELECT count(*) FILTER (WHERE is_member),
                COALESCE(array_agg(share) FILTER (WHERE NOT is_member), '{}'),
                COALESCE(array_agg(share) FILTER (WHERE NOT is_member AND is_mine), '{}')
            FROM (
                SELECT classid = \(Int64(self.members))::oid AS is_member, objid::int4 AS share,
                    pid = pg_backend_pid() AS is_mine
                FROM pg_locks
                WHERE locktype = 'advisory' AND granted AND objsubid = 2
                    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
                    AND (classid IN (\(Int64(self.shares))::oid, \(Int64(self.members))::oid)
                        OR classid = \(before)::oid AND mode = 'ExclusiveLock')) held
            """,
            decode: { rows throws(StoreError) in
                var row = rows[0]
                let members = Int(try row.next(Int64.self))
                let (taken, mine): ([Int32], [Int32]) = (try row.next(), try row.next())
                return Snapshot(members: members, taken: self.known(taken), mine: self.known(mine))
            })
    }

    /// Whether owners of the release before count as members of another kind, which `all` does not count.
    package var hasEarlierOwners: Bool { self.common != nil }

    /// Ends the sessions of members that have said nothing for too long, also of the release before, in this database. The server
    /// may have databases of other clusters. The answer is whether there were any.
    package var endFrozen: Statement<Bool> {
        let earlier = Int64((self.common ?? self.shares) + 1)
        return Statement(
            """
            SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity a
            WHERE a.pid <> pg_backend_pid() AND a.state <> 'active'
                AND a.state_change < clock_timestamp() - make_interval(secs => \(Double(self.frozenAfter.components.seconds)))
                AND a.datname = current_database()
                AND a.pid IN (SELECT l.pid FROM pg_locks l
                    WHERE l.locktype = 'advisory' AND l.granted
                        AND l.classid IN (\(Int64(self.members))::oid, \(earlier)::oid))
            """,
            decode: { !$0.isEmpty })
    }

    /// The holders of all shares at one moment.
    package struct Snapshot: Equatable, Sendable {
        /// Processes alive, this one included.
        package var members = 0
        package var taken: Set<Int> = []
        package var mine: Set<Int> = []
    }

    private func known(_ numbers: [Int32]) -> Set<Int> {
        Set(numbers.lazy.map { Int($0) }.filter { (0..<self.count).contains($0) })
    }

    /// Which shares this process should take or give up.
    package func decide(_ snapshot: Snapshot) -> LeaseShare.Decision {
        LeaseShare.decide(
            mine: snapshot.mine, taken: snapshot.taken, members: max(1, snapshot.members), of: self.count)
    }
}
