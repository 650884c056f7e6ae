import NIOCore

/// A question that decides whether this process should get traffic, asked at `GET /ready`.
package struct ReadinessCheck: Sendable {
    package let name: String
    let isReady: @Sendable () async -> Bool
    let keptFor: Duration

    /// - Parameters:
    ///   - name: shown to people when it fails: `redis`, `postgres`, `partitions`.
    ///   - keptFor: how long a yes is believed. A check that asks another server gives `RuntimeLimits.readinessKept`:
    ///     the balancer polls each process every 2 to 5 s. A no is never kept.
    ///   - isReady: taken as no if it has not answered within `RuntimeLimits.readinessCheckMax`. Not asked again before
    ///     it has.
    package init(_ name: String, keptFor: Duration = .zero, isReady: @escaping @Sendable () async -> Bool) {
        self.name = name
        self.keptFor = keptFor
        self.isReady = isReady
    }
}

/// Asks one check, however many want to know, and never waits for it longer than the limit.
actor Readiness {
    nonisolated let name: String
    private let isReady: @Sendable () async -> Bool
    private let limit: Duration
    private let keptFor: Duration
    private let executor: LoopTaskExecutor
    private var asking: Task<Bool, Never>?
    /// When a yes was heard last.
    private var wasReady: ContinuousClock.Instant?

    /// - Parameter executor: where the question is asked, and whose clock tells that it takes too long.
    init(_ check: ReadinessCheck, limit: Duration, executor: LoopTaskExecutor) {
        self.name = check.name
        self.isReady = check.isReady
        self.limit = limit
        self.keptFor = check.keptFor
        self.executor = executor
    }

    func ask() async -> Bool {
        if let wasReady, .now - wasReady < self.keptFor { return true }
        let answer = self.ongoing()
        let (first, given) = AsyncStream.makeStream(of: Bool.self, bufferingPolicy: .bufferingOldest(1))
        let timer = self.executor.eventLoop.scheduleTask(in: TimeAmount(self.limit)) { _ = given.yield(false) }
        // Bare because a task group would wait for it, and it may hang in a server that is gone: the very case to report in time.
        Task(executorPreference: self.executor) { given.yield(await answer.value) }
        defer { timer.cancel() }
        for await isReady in first { return isReady }
        return false
    }

    private func ongoing() -> Task<Bool, Never> {
        if let asking { return asking }
        // Bare: outlives the request that asked if the answer comes too late for it.
        let task = Task(executorPreference: self.executor) { [isReady] in
            let answer = await isReady()
            await self.answered(answer)
            return answer
        }
        self.asking = task
        return task
    }

    private func answered(_ isReady: Bool) {
        self.asking = nil
        self.wasReady = isReady ? .now : nil
    }
}
