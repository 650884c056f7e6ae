import Contract
import StoreModel

/// The server of the store: its sessions, their locks and transactions. The tables are `StoreModel`.
final class SimulatedPostgres {
    /// What becomes of the statements of one round trip.
    enum Fate {
        case done
        /// The session ends before the server has seen them.
        case lostBefore
        /// The session ends when they are done, before anybody hears of it.
        case lostAfter
    }

    final class Session {
        let id: Int32
        let host: Host?
        var isOver = false
        /// The machine's clock at its last statement.
        var heardAt: Int64
        /// First and second key of advisory locks.
        var locks: Set<[Int32]> = []
        var transaction: OpenTransaction?

        init(id: Int32, host: Host?, at now: Int64) {
            self.id = id
            self.host = host
            self.heardAt = now
        }
    }

    /// Works on a copy, which becomes the truth with the commit.
    struct OpenTransaction {
        var tables: StoreModel
        /// Changes of the truth when the copy was made.
        var basis: Int
        var done: [(statement: StoreModel.Statement, parameters: Parameters, answer: StatementAnswer)] = []
    }

    var tables = StoreModel()
    private(set) var sessions: [Session] = []
    private var lastSession: Int32 = 100
    /// Changes of `tables`.
    private var changes = 0
    /// Nobody gets a session.
    var isAway = false
    var fate: (Session) -> Fate = { _ in .done }
    var mutation: Mutation?

    // MARK: Sessions

    func connect(_ host: Host?) -> Session? {
        guard !self.isAway, host?.isDead != true else { return nil }
        self.lastSession += 1
        let session = Session(id: self.lastSession, host: host, at: Machine.current.now)
        self.sessions.append(session)
        return session
    }

    /// Its locks are free; what it has not committed never was.
    func end(_ session: Session) {
        session.isOver = true
        session.transaction = nil
        session.locks = []
        self.sessions.removeAll { $0 === session }
    }

    /// The server restarts: every session ends, every commit stays.
    func restart() { for session in self.sessions { self.end(session) } }

    // MARK: Transactions

    enum Failure: Error { case refused(sqlState: String, constraint: String) }

    /// - Throws: nothing was done, and the transaction takes no more than its rollback.
    func run(
        _ statement: StoreModel.Statement, _ parameters: Parameters, in session: Session
    ) throws(Failure) -> StatementAnswer {
        do throws(Refused) {
            guard session.transaction != nil else {
                let answer = try self.tables.run(statement, parameters)
                if !statement.onlyReads { self.changes += 1 }
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
    }

    func rollBack(_ session: Session) { session.transaction = nil }

    /// If somebody else has committed meanwhile, what was done is done again on what is there now; if that is not the same, the
    /// two were in each other's way.
    func commit(_ session: Session) throws(Failure) {
        guard let transaction = session.transaction else { return }
        session.transaction = nil
        guard transaction.done.contains(where: { !$0.statement.onlyReads }) else { return }
        if self.mutation == .answersBeforeCommit {
            Machine.current.after(.milliseconds(30)) { if !session.isOver { try? self.apply(transaction) } }
        } else {
            try self.apply(transaction)
        }
    }

    private func apply(_ transaction: OpenTransaction) throws(Failure) {
        if self.changes == transaction.basis {
            self.tables = transaction.tables
        } else {
            var tables = self.tables
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

    /// - Returns: nil if the statement is not about locks.
    func runOnLocks(_ text: String, _ parameters: Parameters, in session: Session) -> StatementAnswer? {
        guard let statement = LockStatement.allCases.first(where: { text.hasPrefix($0.rawValue) }) else { return nil }
        switch statement {
        case .join: session.locks.insert([parameters(1), session.id])
        case .take:
            let (shares, namespace): ([Int32], Int32) = (parameters(1), parameters(2))
            let free = shares.filter { share in
                self.mutation == .sharesPartitions || !self.sessions.contains { $0.locks.contains([namespace, share]) }
            }
            session.locks.formUnion(free.map { [namespace, $0] })
            return StatementAnswer.ofLocks(free.map { [.number($0)] })
        case .giveUp:
            for share in parameters(2, [Int32].self) { session.locks.remove([parameters(1), share]) }
        case .all:
            let members = Int32(parameters(1, Int64.self))
            return StatementAnswer.ofLocks(
                self.sessions.flatMap { owner in
                    owner.locks.sorted { $0.lexicographicallyPrecedes($1) }.map { lock in
                        [.bool(lock[0] == members), .number(lock[1]), .bool(owner === session)]
                    }
                })
        case .endFrozen:
            let patience = Int64(parameters(1, Double.self) * 1_000_000_000)
            let members: Int64 = parameters(2)
            for other in self.sessions
            where other !== session && other.heardAt < Machine.current.now - patience
                && other.locks.contains(where: { $0[0] == Int32(members) })
            {
                self.end(other)
            }
        }
        return StatementAnswer()
    }

    private enum LockStatement: String, CaseIterable {
        case join = "SELECT pg_try_advisory_lock("
        case take = "SELECT g.share FROM unnest("
        case giveUp = "SELECT pg_advisory_unlock("
        case all = "SELECT classid = "
        case endFrozen = "SELECT pg_terminate_backend("
    }
}

private enum LockCell {
    case bool(Bool)
    case number(Int32)
}

extension StatementAnswer {
    fileprivate static func ofLocks(_ rows: [[LockCell]]) -> StatementAnswer {
        StatementAnswer(rows) { row, columns in
            for cell in row {
                switch cell {
                case .bool(let value): columns.add(value)
                case .number(let value): columns.add(value)
                }
            }
        }
    }
}
