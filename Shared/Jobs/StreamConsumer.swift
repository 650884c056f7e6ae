package import Bus

/// One consumer of a group on a stream. Takes Jobs, claims those that another consumer left behind, and acknowledges.
///
/// Copies share nothing but the bus: one copy takes, any may acknowledge.
package struct StreamConsumer: Sendable {
    package struct Bounds: Sendable {
        /// A Job that was taken this long ago and not acknowledged is claimed. Longer than a Job takes.
        package var claimIdle: Duration
        /// Between two looks for such Jobs.
        package var claimEvery: Duration
        /// Jobs taken from the bus in one go.
        package var takeMax: Int
        /// Longest wait at the bus; also how late a drain is noticed.
        package var takeBlockMax: Duration
        /// Pause after the bus failed, before asking it again.
        package var retryPause: Duration

        package init(
            claimIdle: Duration, claimEvery: Duration, takeMax: Int, takeBlockMax: Duration, retryPause: Duration
        ) {
            self.claimIdle = claimIdle
            self.claimEvery = claimEvery
            self.takeMax = takeMax
            self.takeBlockMax = takeBlockMax
            self.retryPause = retryPause
        }
    }

    package let stream: String
    package let bounds: Bounds
    private let bus: any JobBus
    private let group: String
    private let name: String
    private let measuresAges: Bool
    private let depth: (@Sendable (Int) -> Void)?
    private var nextClaim: ContinuousClock.Instant?
    private var ages: EntryAges?

    /// - Parameters:
    ///   - name: of this consumer in its group.
    ///   - measuresAges: whether `age` is needed. It asks Redis for its time before each look for abandoned Jobs.
    ///   - depth: told the number of Jobs in the stream, as often.
    package init(
        bus: any JobBus, stream: String, group: String, name: String, bounds: Bounds, measuresAges: Bool = false,
        depth: (@Sendable (Int) -> Void)? = nil
    ) {
        self.bus = bus
        self.stream = stream
        self.group = group
        self.name = name
        self.bounds = bounds
        self.measuresAges = measuresAges
        self.depth = depth
    }

    /// Jobs for this consumer: abandoned ones, or else new ones. Waits until one comes, but not longer than `blockFor`.
    /// - Parameter room: for how many. Without room it only waits.
    package mutating func next(_ room: Int, blockFor: Duration? = nil) async throws(BusError) -> [StreamEntry] {
        let limit = min(room, self.bounds.takeMax)
        let blockFor = blockFor ?? self.bounds.takeBlockMax
        if self.nextClaim.map({ .now >= $0 }) ?? true {
            // First what may fail: Jobs that are claimed and then forgotten would wait for `claimIdle` once more.
            if let depth = self.depth { depth(try await self.bus.depth(of: [self.stream])[0]) }
            if self.measuresAges { self.ages = EntryAges(serverTime: try await self.bus.time()) }
            let claimed = limit > 0 ? try await self.claim(limit) : []
            // With a full hand there may be more to claim.
            if claimed.isEmpty || claimed.count < limit { self.nextClaim = .now + self.bounds.claimEvery }
            if !claimed.isEmpty { return claimed }
        }
        guard limit > 0 else {
            try? await Task.sleep(for: blockFor)
            return []
        }
        return try await self.bus.take(
            from: self.stream, group: self.group, consumer: self.name, limit: limit, blockFor: blockFor)
    }

    private func claim(_ limit: Int) async throws(BusError) -> [StreamEntry] {
        try await self.bus.claim(
            from: self.stream, group: self.group, consumer: self.name, idle: self.bounds.claimIdle, limit: limit)
    }

    /// Zero until it can be known.
    package func age(of id: EntryID) -> Duration { self.ages?.age(of: id) ?? .zero }

    /// Ends these Jobs. An end that gets lost brings them again.
    package func acknowledge(_ ids: [EntryID]) {
        guard !ids.isEmpty else { return }
        self.bus.acknowledge(ids, in: self.stream, group: self.group)
    }
}
