/// A question that decides whether this process should get traffic, asked at `GET /ready`.
package struct ReadinessCheck: Sendable {
    package let name: String
    let isReady: @Sendable () async -> Bool
    let keptFor: Duration

    /// - Parameters:
    ///   - name: what a person reads when it fails: `redis`, `postgres`, `partitions`.
    ///   - keptFor: how long a yes is believed. What asks another server gives `RuntimeLimits.readinessKept`: the balancer looks
    ///     at each process every 2 s. A no is never kept.
    ///   - isReady: taken as no if it has not answered within `RuntimeLimits.readinessCheckMax`. Not asked again before it has.
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
    private var asking: Task<Bool, Never>?
    /// When a yes was heard last.
    private var wasReady: ContinuousClock.Instant?

    init(_ check: ReadinessCheck, limit: Duration) {
        self.name = check.name
        self.isReady = check.isReady
        self.limit = limit
        self.keptFor = check.keptFor
    }

    func ask() async -> Bool {
        if let wasReady, .now - wasReady < self.keptFor { return true }
        let answer = self.ongoing()
        let (first, given) = AsyncStream.makeStream(of: Bool.self, bufferingPolicy: .bufferingOldest(1))
        // Both tasks are bare because a task group would wait for the slower one, and that one may hang in a
        // server that is gone: the very case to report in time.
        let timer = Task { [limit] in
            try? await Task.sleep(for: limit)
            given.yield(false)
        }
        Task { given.yield(await answer.value) }
        defer { timer.cancel() }
        for await isReady in first { return isReady }
        return false
    }

    private func ongoing() -> Task<Bool, Never> {
        if let asking { return asking }
        // Bare: outlives the request that asked if the answer comes too late for it.
        let task = Task { [isReady] in
            let answer = await isReady()
            self.answered(answer)
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
