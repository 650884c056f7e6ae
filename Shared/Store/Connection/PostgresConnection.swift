package import Logging
import Synchronization
import Telemetry

/// One connection. libpq blocks, so the actor brings its own executor.
///
/// A connection that is lost stays lost (`isLost`, every call throws `.unavailable`) until somebody calls `connect`.
/// Statements of several callers never mix: while one has a transaction open, the others wait.
package actor PostgresConnection {
    private struct OpenTransaction {
        let begin: SQL
        var hasBegun = false
        /// The first failure. From then on the server takes nothing but a rollback.
        var failure: StoreError?
    }

    /// Where in a list of statements the server may begin to commit.
    private enum Commit {
        case never
        case at(Int)
    }

    private nonisolated let executor: any SerialExecutor
    /// `executor`, if it can borrow threads.
    private nonisolated let queue: QueueExecutor?
    package nonisolated var unownedExecutor: UnownedSerialExecutor { self.executor.asUnownedSerialExecutor() }

    private let configuration: PostgresConfiguration
    private let logger: Logger
    private nonisolated let link = Mutex(Link())
    private var session: Session?
    private let metrics = StoreMetrics()
    /// The first connection is none that was lost.
    private var hasConnected = false
    private var transaction: OpenTransaction?
    /// Statements have been sent whose answers are waited for on another thread.
    private var isAnswerOwed = false
    private var waiters: [CheckedContinuation<Void, Never>] = []

    /// - Parameters:
    ///   - executor: for this connection alone: whatever runs there waits while the server works.
    ///   - callers: where the tasks that use this connection prefer to run. Then it can borrow their threads.
    package init(
        _ configuration: PostgresConfiguration, executor: (any SerialExecutor)? = nil,
        callers: (any TaskExecutor)? = nil,
        logger: Logger
    ) {
        let queue = executor == nil ? QueueExecutor(label: "postgres-connection", callers: callers) : nil
        self.queue = queue
        self.executor = executor ?? queue!
        self.configuration = configuration
        self.logger = logger
    }

    /// Whether the connection is of no use until the next `connect`. True before the first one.
    package nonisolated var isLost: Bool { self.link.withLock { $0.isLost } }

    /// The server's process of this connection; nil without one.
    package var backendPID: Int32? { self.session?.backendPID }

    /// Whether `query`, `execute` and `pipeline` run on the caller's thread, which blocks for up to `StoreLimits.borrowedMax` each time.
    /// For a caller that has little else to do.
    package nonisolated func borrowsThread(_ isBorrowing: Bool) {
        self.queue?.borrowsThreads.store(isBorrowing, ordering: .relaxed)
    }

    /// Connects, again if need be; nothing of an older session is kept.
    /// - Throws: `.unavailable`; it has been logged why.
    package func connect() throws(StoreError) {
        self.close()
        do {
            let session = try Session(self.configuration)
            self.link.withLock { $0.connected(session.descriptor) }
            self.session = consume session
            if self.hasConnected { self.metrics.reconnects.increment() }
            self.hasConnected = true
        } catch {
            throw self.translate(error, committing: .never)
        }
    }

    /// Ends the session. A transaction that is open rolls back.
    package func close() {
        self.link.withLock { $0.lost() }
        self.session = nil
        // Its later statements must not run by themselves on the next session.
        if let transaction = self.transaction { self.transaction?.failure = transaction.failure ?? .unavailable }
    }

    // MARK: Statements by themselves

    /// - Throws: `.outcomeUnknown` also for a statement that only reads: the connection does not know what it does.
    package func query(_ sql: SQL) async throws(StoreError) -> Rows {
        try await self.answers(to: [sql])[0]
    }

    /// - Returns: rows affected.
    @discardableResult
    package func execute(_ sql: SQL) async throws(StoreError) -> Int {
        try await self.answers(to: [sql])[0].affected
    }

    /// Runs statements in one transaction and one round trip: all or nothing.
    /// - Returns: the rows of each.
    func answers(to statements: [SQL]) async throws(StoreError) -> [Rows] {
        try await self.untilFree()
        switch statements.count {
        case 0: return []
        case 1: return try await self.runAlone(statements, committing: .at(1))
        case let count:
            // The server would take them as one transaction without BEGIN and COMMIT; so it says which of both ended it.
            let framed = [IsolationLevel.readCommitted.begin] + statements + [Self.commitStatement]
            let rows = try await self.runAlone(framed, committing: .at(count + 1))
            return Array(rows[1...count])
        }
    }

    /// - Throws: as `query`; `.undecodable`.
    package nonisolated(nonsending) func query<Answer>(
        _ statement: Statement<Answer>
    ) async throws(StoreError) -> Answer {
        try statement.decode(try await self.query(statement.sql))
    }

    /// Runs statements in one transaction and one round trip: all or nothing.
    package nonisolated(nonsending) func pipeline(_ pipeline: Pipeline) async throws(StoreError) -> Pipeline.Answers {
        Pipeline.Answers(rows: try await self.answers(to: pipeline.statements))
    }

    /// Runs a text of statements without parameters; unless it says otherwise they are one transaction.
    package func script(_ text: String) async throws(StoreError) {
        try await self.untilFree()
        try self.run(script: text, committing: .at(0))
    }

    // MARK: Transactions

    /// Commits if `body` returns, rolls back if it throws.
    /// - Throws: what `body` throws; `.outcomeUnknown` only from the commit. If a statement failed and `body` returned all
    ///   the same, nothing is committed and its error is thrown here.
    @discardableResult
    package func transaction<T>(
        isolation: isolated (any Actor)? = #isolation, level: IsolationLevel = .readCommitted,
        _ body: (borrowing Transaction) async throws(StoreError) -> T
    ) async throws(StoreError) -> T {
        try await self.open(level)
        // Has a name because the optimizer of Swift 6.3 aborts on one made inside of the call.
        let transaction = Transaction(on: self)
        let value: T
        do {
            value = try await body(transaction)
        } catch {
            await self.rollBack()
            throw error
        }
        try await self.commit()
        return value
    }

    private static let commitStatement: SQL = "COMMIT"
    private static let rollbackStatement: SQL = "ROLLBACK"

    private func open(_ level: IsolationLevel) async throws(StoreError) {
        try await self.untilFree()
        guard self.session != nil else { throw .unavailable }
        self.transaction = OpenTransaction(begin: level.begin)
    }

    func runInTransaction(_ statements: [SQL]) throws(StoreError) -> [Rows] {
        guard let transaction = self.transaction else { throw .unavailable }
        if let failure = transaction.failure { throw failure }
        do {
            if transaction.hasBegun { return try self.run(statements, committing: .never) }
            self.transaction?.hasBegun = true
            return Array(try self.run([transaction.begin] + statements, committing: .never)[1...])
        } catch {
            self.transaction?.failure = error
            throw error
        }
    }

    func scriptInTransaction(_ text: String) throws(StoreError) {
        _ = try self.runInTransaction([])
        do {
            try self.run(script: text, committing: .never)
        } catch {
            self.transaction?.failure = error
            throw error
        }
    }

    private func commit() throws(StoreError) {
        guard let transaction = self.transaction else { throw .unavailable }
        if let failure = transaction.failure {
            self.rollBack()
            throw failure
        }
        defer { self.endTransaction() }
        guard transaction.hasBegun else { return }
        let rows = try self.run([Self.commitStatement], committing: .at(0))
        guard rows[0].tag == "COMMIT" else { throw .conflict }
    }

    private func rollBack() {
        self.rollBackOnServer()
        self.endTransaction()
    }

    /// Leaves the session outside of any transaction, or closed.
    private func rollBackOnServer() {
        guard self.session?.isInTransaction == true else { return }
        if (try? self.run([Self.rollbackStatement], committing: .never)) == nil { self.close() }
    }

    private func endTransaction() {
        self.transaction = nil
        self.resumeWaiters()
    }

    private func resumeWaiters() {
        let waiters = self.waiters
        self.waiters = []
        for waiter in waiters { waiter.resume() }
    }

    /// Waits while somebody else's transaction is open, or an answer to somebody else is owed.
    private func untilFree() async throws(StoreError) {
        while self.transaction != nil || self.isAnswerOwed {
            guard self.waiters.count < StoreLimits.connectionWaitersMax else { throw .unavailable }
            await withCheckedContinuation { self.waiters.append($0) }
        }
    }

    // MARK: The session

    /// - Parameter retryingStalePlans: whether the statements are a transaction of their own, which can be run again
    ///   if a table has changed under a prepared statement.
    private func run(
        _ statements: [SQL], committing commit: Commit, retryingStalePlans: Bool = false
    ) throws(StoreError) -> [Rows] {
        guard !self.isLost, self.session != nil else {
            self.close()
            throw .unavailable
        }
        self.link.withLock { $0.began() }
        defer { self.link.withLock { $0.ended() } }
        do {
            return try self.session!.run(statements)
        } catch .refused(let error, _) where error.isStalePlan && retryingStalePlans {
            self.rollBackOnServer()
            return try self.run(statements, committing: commit)
        } catch {
            throw self.translate(error, committing: commit)
        }
    }

    /// Statements that are a transaction of their own. After an error no transaction is open when somebody else has their turn.
    /// A borrowed thread is given back if the server takes long.
    private func runAlone(_ statements: [SQL], committing commit: Commit) async throws(StoreError) -> [Rows] {
        guard let queue = self.queue, queue.borrowsThreads.load(ordering: .relaxed), !self.isLost, self.session != nil
        else {
            return try self.runWhole(statements, committing: commit, retryingStalePlans: true)
        }
        self.link.withLock { $0.began() }
        defer { self.link.withLock { $0.ended() } }
        do throws(Session.Failure) {
            let started = try self.session!.start(statements)
            if !self.session!.isAnswered(within: StoreLimits.borrowedMax) {
                self.isAnswerOwed = true
                queue.borrowsThreads.store(false, ordering: .relaxed)
                await Task.yield()
                self.isAnswerOwed = false
                self.resumeWaiters()
            }
            guard self.session != nil else { throw Session.Failure.lost(reason: "closed meanwhile", untouched: nil) }
            return try self.session!.finish(started)
        } catch .refused(let error, _) where error.isStalePlan {
            self.rollBackOnServer()
            return try self.runWhole(statements, committing: commit)
        } catch {
            let error = self.translate(error, committing: commit)
            self.rollBackOnServer()
            throw error
        }
    }

    /// As `run`; an error leaves no transaction open.
    private func runWhole(
        _ statements: [SQL], committing commit: Commit, retryingStalePlans: Bool = false
    ) throws(StoreError) -> [Rows] {
        do {
            return try self.run(statements, committing: commit, retryingStalePlans: retryingStalePlans)
        } catch {
            self.rollBackOnServer()
            throw error
        }
    }

    private func run(script: String, committing commit: Commit) throws(StoreError) {
        guard !self.isLost, self.session != nil else {
            self.close()
            throw .unavailable
        }
        self.link.withLock { $0.began() }
        defer { self.link.withLock { $0.ended() } }
        do {
            try self.session!.run(script: script)
        } catch {
            throw self.translate(error, committing: commit)
        }
    }

    private func translate(_ failure: Session.Failure, committing commit: Commit) -> StoreError {
        switch failure {
        case .refused(let error, _):
            return StoreError(error)
        case .lost(let reason, let untouched):
            self.logger.warning("postgres connection lost", [.error: "\(reason)"])
            self.close()
            switch commit {
            case .never: return .unavailable
            case .at(let index): return untouched.map { $0 < index } == true ? .unavailable : .outcomeUnknown
            }
        }
    }
}
