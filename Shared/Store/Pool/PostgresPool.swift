package import Logging
import Synchronization
import Telemetry

/// Up to a fixed number of connections, opened when first needed and connected again when they were lost.
/// While the server is away callers are refused at once, but for one attempt per pause (`StoreLimits.reconnect`); who comes during
/// an attempt waits for it, within its own time.
package final class PostgresPool: Sendable {
    package struct Status: Sendable, Equatable {
        /// Connections in somebody's hands.
        package var busy = 0
        package var idle = 0
        /// Callers that wait for a connection.
        package var waiting = 0
    }

    private struct Waiter {
        let id: UInt64
        let continuation: CheckedContinuation<PostgresConnection?, Never>
    }

    private struct State {
        var idle: [PostgresConnection] = []
        var busy = 0
        var waiters: [Waiter] = []
        var lastWaiter: UInt64 = 0
        var limiter = ReconnectLimiter()
        var isClosed = false
    }

    private let configuration: PostgresConfiguration
    private let connectionsMax: Int
    private let waitMax: Duration
    private let makeExecutor: (@Sendable () -> any SerialExecutor)?
    private let logger: Logger
    private let metrics = StoreMetrics()
    private let state = Mutex(State())

    /// - Parameters:
    ///   - connections: at most this many at a time, at least one.
    ///   - waitMax: how long a caller waits for a free connection before `.unavailable`.
    ///   - makeExecutor: see `PostgresConnection`.
    package init(
        _ configuration: PostgresConfiguration, connections: Int, waitMax: Duration = .seconds(5),
        makeExecutor: (@Sendable () -> any SerialExecutor)? = nil, logger: Logger
    ) {
        precondition(connections > 0)
        self.configuration = configuration
        self.connectionsMax = connections
        self.waitMax = waitMax
        self.makeExecutor = makeExecutor
        self.logger = logger
    }

    package var status: Status {
        self.state.withLock { Status(busy: $0.busy, idle: $0.idle.count, waiting: $0.waiters.count) }
    }

    /// Refuses all callers from now on, those that wait included. Connections in use close when they are given back.
    package func close() {
        let (waiters, idle) = self.state.withLock { state in
            defer {
                state.isClosed = true
                state.waiters = []
                state.idle = []
            }
            return (state.waiters, state.idle)
        }
        for waiter in waiters { waiter.continuation.resume(returning: nil) }
        _ = idle  // The last reference to a connection closes it; here, outside of the lock.
    }

    // MARK: Use

    package func query(_ sql: SQL) async throws(StoreError) -> Rows {
        try await self.withConnection { connection throws(StoreError) in try await connection.query(sql) }
    }

    /// - Returns: rows affected.
    @discardableResult
    package func execute(_ sql: SQL) async throws(StoreError) -> Int {
        try await self.query(sql).affected
    }

    package nonisolated(nonsending) func query<Answer>(
        _ statement: Statement<Answer>
    ) async throws(StoreError) -> Answer {
        try statement.decode(try await self.query(statement.sql))
    }

    /// Runs statements in one transaction and one round trip: all or nothing.
    package nonisolated(nonsending) func pipeline(_ pipeline: Pipeline) async throws(StoreError) -> Pipeline.Answers {
        try await self.withConnection { connection throws(StoreError) in try await connection.pipeline(pipeline) }
    }

    /// Commits if `body` returns, rolls back if it throws. See `PostgresConnection.transaction`.
    @discardableResult
    package func withTransaction<T>(
        isolation: isolated (any Actor)? = #isolation, level: IsolationLevel = .readCommitted,
        _ body: (borrowing Transaction) async throws(StoreError) -> T
    ) async throws(StoreError) -> T {
        let connection = try await self.borrow()
        defer { self.giveBack(connection) }
        return try await connection.transaction(level: level, body)
    }

    /// Lends a connection. It must not be used after `body` has ended.
    @discardableResult
    package func withConnection<T>(
        isolation: isolated (any Actor)? = #isolation,
        _ body: (PostgresConnection) async throws(StoreError) -> T
    ) async throws(StoreError) -> T {
        let connection = try await self.borrow()
        defer { self.giveBack(connection) }
        return try await body(connection)
    }

    // MARK: Borrowing

    private func borrow() async throws(StoreError) -> PostgresConnection {
        var taken = self.state.withLock { self.take(from: &$0) }
        if taken == nil {
            let clock = ContinuousClock.now
            taken = await self.wait()
            self.metrics.waitSeconds.record(duration: ContinuousClock.now - clock)
        }
        guard let connection = taken else { throw .unavailable }
        guard connection.isLost else { return connection }
        guard await self.mayConnect() else {
            self.giveBack(connection)
            throw .unavailable
        }
        do {
            try await connection.connect()
            self.state.withLock { $0.limiter.succeeded() }
            return connection
        } catch {
            self.state.withLock { $0.limiter.failed(at: .now) }
            self.giveBack(connection)
            throw error
        }
    }

    /// Whether to try to reach the server now. While another caller tries, this one waits for the result, up to
    /// `waitMax`: with the first requests after an outage the server is mostly back.
    private func mayConnect() async -> Bool {
        let deadline = ContinuousClock.now + self.waitMax
        while true {
            let (isAdmitted, isTrying) = self.state.withLock { ($0.limiter.admits(at: .now), $0.limiter.isTrying) }
            if isAdmitted { return true }
            guard isTrying, ContinuousClock.now < deadline, !Task.isCancelled else { return false }
            try? await Task.sleep(for: StoreLimits.reconnectLookPause)
        }
    }

    private func take(from state: inout State) -> PostgresConnection? {
        guard !state.isClosed, state.busy < self.connectionsMax else { return nil }
        state.busy += 1
        self.metrics.connectionsBusy.increment()
        return state.idle.popLast()
            ?? PostgresConnection(self.configuration, executor: self.makeExecutor?(), logger: self.logger)
    }

    private func giveBack(_ connection: PostgresConnection) {
        let next: Waiter? = self.state.withLock { state in
            if !state.waiters.isEmpty { return state.waiters.removeFirst() }
            state.busy -= 1
            self.metrics.connectionsBusy.decrement()
            if state.isClosed { return nil }
            // The last one used is the first one lent; lost ones come last.
            state.idle.insert(connection, at: connection.isLost ? 0 : state.idle.count)
            return nil
        }
        next?.continuation.resume(returning: connection)
    }

    /// Waits for a connection up to `waitMax`, or until the task is cancelled.
    private func wait() async -> PostgresConnection? {
        let id = self.state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        return await withTaskGroup(of: PostgresConnection?.self) { group in
            group.addTask { await self.waitInLine(as: id) }
            group.addTask {
                try? await Task.sleep(for: self.waitMax)
                return nil
            }
            var connection: PostgresConnection?
            for await result in group {
                connection = connection ?? result
                group.cancelAll()
            }
            return connection
        }
    }

    private func waitInLine(as id: UInt64) async -> PostgresConnection? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer: PostgresConnection?? = self.state.withLock { state in
                    // One may have become free since.
                    if let connection = self.take(from: &state) { return .some(connection) }
                    if Task.isCancelled || state.isClosed || state.waiters.count >= StoreLimits.poolWaitersMax {
                        return .some(nil)
                    }
                    state.waiters.append(Waiter(id: id, continuation: continuation))
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            let waiter: Waiter? = self.state.withLock { state in
                state.waiters.firstIndex { $0.id == id }.map { state.waiters.remove(at: $0) }
            }
            waiter?.continuation.resume(returning: nil)
        }
    }
}
