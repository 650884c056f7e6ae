import ClusterContract
import Contract
import StoreModel

/// The server of the store: its sessions, their locks and transactions. The tables are `StoreModel`.
final class SimulatedPostgres {
    /// The fate of the statements of one round trip.
    enum Fate {
        case done
        /// The session ends before the server has received them.
        case lostBefore
        /// The session ends after they are done, before the answer is sent.
        case lostAfter
    }

    final class Session {
        let id: Int32
        let host: Host?
        var isOver = false
        /// The machine's clock at its last statement.
        var heardAt: Int64
        /// In order.
        private(set) var locks: [AdvisoryLock] = []
        var transaction: OpenTransaction?

        init(id: Int32, host: Host?, at now: Int64) {
            self.id = id
            self.host = host
            self.heardAt = now
        }

        func take(_ lock: AdvisoryLock) {
            guard !self.locks.contains(lock) else { return }
            self.locks.insert(lock, at: self.locks.firstIndex { lock < $0 } ?? self.locks.endIndex)
        }

        func giveUp(_ lock: AdvisoryLock) { self.locks.removeAll { $0 == lock } }

        func giveUpAll() { self.locks = [] }
    }

    /// A transaction works on a copy of the tables, which replaces them at the commit.
    struct OpenTransaction {
        var tables: StoreModel
        /// The count of changes when the copy was made.
        var basis: Int
        var done: [(statement: StoreModel.Statement, parameters: Parameters, answer: StatementAnswer)] = []
    }

    var tables = StoreModel()
    private(set) var sessions: [Session] = []
    private var lastSession: Int32 = 100
    /// When a session last took locks, on the machine's clock.
    private(set) var lastTaken: Int64 = 0
    /// Changes of `tables`.
    private var changes = 0
    /// The server accepts no session.
    var isAway = false
    var fate: (Session) -> Fate = { _ in .done }
    var mutation: Mutation?
    /// The standby's tables while it is away; otherwise it has everything.
    private var standby: StoreModel?

    // MARK: Sessions

    func connect(_ host: Host?) -> Session? {
        guard !self.isAway, host?.isDead != true else { return nil }
        self.lastSession += 1
        let session = Session(id: self.lastSession, host: host, at: Machine.current.now)
        self.sessions.append(session)
        return session
    }

    /// Ends a session: its locks are released, and its open transaction is lost.
    func end(_ session: Session) {
        session.isOver = true
        session.transaction = nil
        session.giveUpAll()
        self.sessions.removeAll { $0 === session }
    }

    /// The server restarts: every session ends, every commit stays.
    func restart() { for session in self.sessions { self.end(session) } }

    // MARK: The standby

    var isStandbyAway: Bool { self.standby != nil }

    func loseStandby() { self.standby = self.standby ?? self.tables }

    func findStandby() { self.standby = nil }

    /// The primary is lost, with the data that only it has.
    func promoteStandby() {
        guard let standby else { return self.restart() }
        self.restart()
        self.tables = standby
        self.changes += 1
        self.standby = nil
    }

    /// Ends a session that would wait for an absent standby, without an answer. Its writes stay.
    /// - Parameters:
    ///   - before: the tables before the session's writes, if the standby is away.
    ///   - isAlone: the statement is not part of a larger transaction.
    private func waitForStandby(
        _ session: Session, since before: StoreModel?, behind done: some Sequence<StoreModel.Statement>, isAlone: Bool
    ) {
        guard let before else { return }
        let isBarrier =
            switch self.mutation {
            case .answersRepeatedWithoutBarrier: false
            case .takesOverWithoutBarrier: isAlone
            default: true
            }
        if isBarrier && done.contains(where: \.isBarrier) || !self.tables.hasMail(of: before) { self.end(session) }
    }

    // MARK: Transactions

    /// By the server's own clock, as `now()`.
    private static var time: Timestamp { Timestamp(milliseconds: Machine.current.now / 1_000_000) }

    enum Failure: Error { case refused(sqlState: String, constraint: String) }

    /// - Throws: nothing was done, and the transaction accepts only its rollback.
    func run(
        _ statement: StoreModel.Statement, _ parameters: Parameters, in session: Session
    ) throws(Failure) -> StatementAnswer {
        do throws(Refused) {
            guard session.transaction != nil else {
                let before = self.isStandbyAway ? self.tables : nil
                self.tables.now = Self.time
                let answer = try self.tables.run(statement, parameters)
                if !statement.onlyReads { self.changes += 1 }
                self.waitForStandby(session, since: before, behind: CollectionOfOne(statement), isAlone: true)
                return answer
            }
            let answer = try session.transaction!.tables.run(statement, parameters)
            session.transaction!.done.append((statement, parameters, answer))
            return answer
        } catch {
            switch error {
            case .unique(let constraint): throw .refused(sqlState: "23505", constraint: constraint)
            }
        }
    }

    func begin(_ session: Session) {
        session.transaction = OpenTransaction(tables: self.tables, basis: self.changes)
        session.transaction!.tables.now = Self.time
    }

    func rollBack(_ session: Session) { session.transaction = nil }

    /// If another session has committed meanwhile, the statements run again on the present tables. Different answers
    /// mean that the two transactions conflict.
    func commit(_ session: Session) throws(Failure) {
        guard let transaction = session.transaction else { return }
        session.transaction = nil
        let before = self.isStandbyAway ? self.tables : nil
        if transaction.done.contains(where: { !$0.statement.onlyReads }) {
            if self.mutation == .answersBeforeCommit {
                Machine.current.after(.milliseconds(30)) { if !session.isOver { try? self.apply(transaction) } }
            } else {
                try self.apply(transaction)
            }
        }
        self.waitForStandby(session, since: before, behind: transaction.done.lazy.map(\.statement), isAlone: false)
    }

    private func apply(_ transaction: OpenTransaction) throws(Failure) {
        if self.changes == transaction.basis {
            self.tables = transaction.tables
        } else {
            var tables = self.tables
            // The time of a transaction is that of its beginning.
            tables.now = transaction.tables.now
            for (statement, parameters, answer) in transaction.done {
                guard (try? tables.run(statement, parameters)) == answer else {
                    throw .refused(sqlState: "40001", constraint: "")
                }
            }
            self.tables = tables
        }
        self.changes += 1
    }

    // MARK: Locks

    func run(_ statement: LockStatement, _ parameters: Parameters, in session: Session) -> StatementAnswer {
        switch statement {
        case .join:
            session.take(AdvisoryLock(space: parameters(1), key: session.id))
            // There is no earlier release.
            return StatementAnswer([true]) { $1.add($0) }
        case .take:
            let (shares, space): ([Int32], Int32) = (parameters(1), parameters(2))
            let free = shares.filter { share in
                let lock = AdvisoryLock(space: space, key: share)
                return self.mutation == .sharesPartitions || !self.sessions.contains { $0.locks.contains(lock) }
            }
            if !free.isEmpty { self.lastTaken = Machine.current.now }
            for share in free { session.take(AdvisoryLock(space: space, key: share)) }
            return StatementAnswer(free) { $1.add($0) }
        case .giveUp:
            for share in parameters(2, [Int32].self) { session.giveUp(AdvisoryLock(space: parameters(1), key: share)) }
        case .all:
            let (members, shares) = (Int32(parameters(1, Int64.self)), Int32(parameters(2, Int64.self)))
            var (count, taken, mine): (Int64, [Int32], [Int32]) = (0, [], [])
            for owner in self.sessions {
                for lock in owner.locks {
                    if lock.space == members { count += 1 }
                    guard lock.space == shares else { continue }
                    taken.append(lock.key)
                    if owner === session { mine.append(lock.key) }
                }
            }
            return StatementAnswer([(count, taken, mine)]) {
                $1.add($0.0)
                $1.add($0.1)
                $1.add($0.2)
            }
        case .endFrozen:
            let timeout = Int64(parameters(1, Double.self) * 1_000_000_000)
            let members = Int32(parameters(2, Int64.self))
            let frozen = self.sessions.filter { other in
                other !== session && other.heardAt < Machine.current.now - timeout
                    && other.locks.contains { $0.space == members }
            }
            for other in frozen { self.end(other) }
            return StatementAnswer(frozen.map { _ in true }) { $1.add($0) }
        }
        return StatementAnswer()
    }
}

/// An advisory lock, by its two keys.
struct AdvisoryLock: Comparable {
    let space: Int32
    let key: Int32

    static func < (a: AdvisoryLock, b: AdvisoryLock) -> Bool { (a.space, a.key) < (b.space, b.key) }
}

/// A statement about locks, recognised by its beginning.
enum LockStatement: String, CaseIterable {
    case join = "SELECT pg_try_advisory_lock("
    case take = "SELECT g.share FROM unnest("
    case giveUp = "SELECT pg_advisory_unlock("
    case all = "SELECT count(*) FILTER (WHERE is_member)"
    case endFrozen = "SELECT pg_terminate_backend("

    /// - Returns: nil if the statement is not about locks.
    init?(_ text: String) {
        guard let statement = Self.allCases.first(where: { text.hasPrefix($0.rawValue) }) else { return nil }
        self = statement
    }
}
