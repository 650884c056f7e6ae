/// Who owns which share of some work: advisory locks on the very session that commits, so that nobody can commit without
/// owning. A process that dies loses its session and with it its shares, at once; one that is frozen has its session
/// ended by another. Here are the statements; whoever owns runs them on its own connection.
package struct Leases: Sendable {
    /// First key of the locks on shares; the second is the share.
    private let shares: Int32
    /// First key of the lock that says "I take part"; the second is the session's process.
    private let members: Int32
    /// Of all shares.
    private let count: Int
    /// A member whose session has said nothing for this long is taken for frozen. Every member asks for `all` more often.
    private let frozenAfter: Duration

    private init(namespace: Int32, count: Int, frozenAfter: Duration) {
        self.shares = namespace
        self.members = namespace + 1
        self.count = count
        self.frozenAfter = frozenAfter
    }

    /// Of mailboxes, among routers.
    package static func partitions(_ count: Int, frozenAfter: Duration) -> Leases {
        Leases(namespace: 7_001, count: count, frozenAfter: frozenAfter)
    }

    /// Of calls, among the processes of that service.
    package static func calls(_ count: Int, frozenAfter: Duration) -> Leases {
        Leases(namespace: 7_003, count: count, frozenAfter: frozenAfter)
    }

    /// Of live conversations, among the processes of the same service.
    package static func live(_ count: Int, frozenAfter: Duration) -> Leases {
        Leases(namespace: 7_005, count: count, frozenAfter: frozenAfter)
    }

    package var join: SQL { "SELECT pg_try_advisory_lock(\(self.members), pg_backend_pid())" }

    /// Belongs into one transaction with `ReplicationBarrier`: what an owner before has committed, and no standby has yet, is then
    /// behind us before we answer anything from it.
    /// The answer is which of them are this session's now.
    package func take(_ shares: [Int]) -> Statement<[Int]> {
        let numbers = shares.map { Int32($0) }
        return Statement(
            """
            SELECT g.share FROM unnest(\(numbers)::int4[]) AS g (share)
            WHERE pg_try_advisory_lock(\(self.shares), g.share)
            """,
            each: { row throws(StoreError) in Int(try row.next(Int32.self)) })
    }

    package func giveUp(_ shares: [Int]) -> SQL {
        let numbers = shares.map { Int32($0) }
        return """
            SELECT pg_advisory_unlock(\(self.shares), g.share)
            FROM unnest(\(numbers)::int4[]) AS g (share)
            """
    }

    /// Reads every lock. Whoever owns something asks in one transaction with `ReplicationBarrier`: on a primary
    /// that is cut off from its standbys the answer never comes, and another may own the same on the next primary.
    package var all: Statement<Snapshot> {
        Statement(
            """
            SELECT classid = \(Int64(self.members))::oid, objid::int4, pid = pg_backend_pid()
            FROM pg_locks
            WHERE locktype = 'advisory' AND granted AND objsubid = 2
                AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
                AND classid IN (\(Int64(self.shares))::oid, \(Int64(self.members))::oid)
            """,
            decode: { rows throws(StoreError) in try self.snapshot(rows) })
    }

    /// Ends the sessions of members that have said nothing for too long.
    package var endFrozen: SQL {
        """
        SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity a
        WHERE a.pid <> pg_backend_pid() AND a.state <> 'active'
            AND a.state_change < clock_timestamp() - make_interval(secs => \(Double(self.frozenAfter.components.seconds)))
            AND a.pid IN (SELECT l.pid FROM pg_locks l
                WHERE l.locktype = 'advisory' AND l.granted AND l.classid = \(Int64(self.members))::oid)
        """
    }

    /// The holders of all shares at one moment.
    package struct Snapshot: Equatable, Sendable {
        /// Processes alive, this one included.
        package var members = 0
        package var taken: Set<Int> = []
        package var mine: Set<Int> = []
    }

    private func snapshot(_ rows: Rows) throws(StoreError) -> Snapshot {
        var snapshot = Snapshot()
        for var row in rows {
            let isMember: Bool = try row.next()
            let number = Int(try row.next(Int32.self))
            let isMine: Bool = try row.next()
            if isMember {
                snapshot.members += 1
            } else if (0..<self.count).contains(number) {
                snapshot.taken.insert(number)
                if isMine { snapshot.mine.insert(number) }
            }
        }
        return snapshot
    }

    /// Which shares this process should take or give up.
    package func decide(_ snapshot: Snapshot) -> LeaseShare.Decision {
        LeaseShare.decide(
            mine: snapshot.mine, taken: snapshot.taken, members: max(1, snapshot.members), of: self.count)
    }
}
