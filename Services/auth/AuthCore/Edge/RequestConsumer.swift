package import Bus
import Contract
package import Logging
import Synchronization
package import Telemetry

/// Takes Jobs from `Keyspace.auth`, several at a time, and acknowledges each once its answer has been published.
/// Many of these share the stream, one in each process.
package final class RequestConsumer: Sendable {
    package static let group = "auth"

    private let bus: any JobBus & NoticeBus
    private let handler: RequestHandler
    private let consumer: String
    private let claimIdle: Duration
    private let metrics: AuthMetrics
    private let logger: Logger
    private let slots = JobSlots(AuthLimits.jobsInFlightMax)
    private let isDraining = Mutex(false)
    private let drained = AsyncStream.makeStream(of: Never.self, bufferingPolicy: .bufferingOldest(1))

    /// - Parameters:
    ///   - instance: the number of this process among those of its service: what it held before a crash it holds again.
    ///   - claimIdle: see `AuthLimits.claimIdle`.
    package init(
        bus: any JobBus & NoticeBus, handler: RequestHandler, instance: Int, claimIdle: Duration = AuthLimits.claimIdle,
        metrics: AuthMetrics = AuthMetrics(), logger: Logger
    ) {
        self.bus = bus
        self.handler = handler
        self.consumer = "auth-\(instance)"
        self.claimIdle = claimIdle
        self.metrics = metrics
        self.logger = logger
    }

    /// Jobs taken and not done yet.
    package var jobsInFlight: Int { self.slots.busy }

    /// Works until its task is cancelled, or until `drain`.
    package func run() async {
        await withDiscardingTaskGroup { jobs in
            var lastClaim: ContinuousClock.Instant?
            var ages: EntryAges?
            while !Task.isCancelled, !self.isDraining.withLock({ $0 }) {
                let room = await self.slots.room()
                do throws(BusError) {
                    var entries: [StreamEntry] = []
                    if lastClaim.map({ .now - $0 >= AuthLimits.claimEvery }) ?? true {
                        entries = try await self.claim(room)
                        // With a full hand there may be more to claim.
                        if entries.count < room { lastClaim = .now }
                        self.metrics.busDepth.set(try await self.bus.depth(of: [Keyspace.auth.name])[0])
                        ages = EntryAges(serverTime: try await self.bus.time())
                    }
                    if entries.isEmpty { entries = try await self.take(room) }
                    self.slots.occupy(entries.count)
                    for entry in entries {
                        let age = ages?.age(of: entry.id) ?? .zero
                        jobs.addTask {
                            await self.serve(entry, until: .now + ServiceRequest.frameAgeMax - age)
                            self.slots.free()
                        }
                    }
                } catch {
                    self.logger.warning("jobs not taken", [.error: "\(error)"])
                    try? await Task.sleep(for: AuthLimits.busPause)
                }
            }
        }
        // The group has waited for every Job.
        self.drained.continuation.finish()
    }

    /// Takes no further Jobs, and returns when those taken are done.
    package func drain() async {
        self.isDraining.withLock { $0 = true }
        for await _ in self.drained.stream {}
    }

    private func take(_ room: Int) async throws(BusError) -> [StreamEntry] {
        try await self.bus.take(
            from: Keyspace.auth.name, group: Self.group, consumer: self.consumer, limit: room,
            blockFor: AuthLimits.takeBlockMax)
    }

    private func claim(_ room: Int) async throws(BusError) -> [StreamEntry] {
        try await self.bus.claim(
            from: Keyspace.auth.name, group: Self.group, consumer: self.consumer, idle: self.claimIdle, limit: room)
    }

    /// - Parameter end: a frame is not begun later.
    private func serve(_ entry: StreamEntry, until end: ContinuousClock.Instant) async {
        let request: ServiceRequest
        do {
            request = try ServiceRequest(decoding: entry.bytes)
        } catch {
            // A newer release's, or a bug. Nobody can be answered, and taking it again would not help.
            self.logger.error("job not understood", [.error: "\(error)"])
            return self.acknowledge(entry)
        }
        let clock = ContinuousClock.now
        if case .frame = request.body, clock >= end {
            self.logger.debug("question too old", request.facts(since: clock))
            return self.acknowledge(entry)
        }
        let reaction = await self.handler.handle(request, until: end)
        self.metrics.requests[AuthRequestKind(of: request)].increment()
        self.metrics.seconds.record(duration: ContinuousClock.now - clock)
        self.logger.debug("question handled", request.facts(since: clock))
        switch reaction {
        case .later: return
        case .done: break
        case .answer(let answer, let next):
            let notice = NodeNotice(events: [.answer(question: request.answer.question, answer)])
            let isPublished = await self.publish(notice, to: Keyspace.node(request.answer.node))
            // What has ended has ended, whether its cause is answered or not.
            if let next { self.bus.publish(next, to: Keyspace.nodes) }
            guard isPublished else { return }
        }
        self.acknowledge(entry)
    }

    private func acknowledge(_ entry: StreamEntry) {
        self.bus.acknowledge([entry.id], in: Keyspace.auth.name, group: Self.group)
    }

    /// - Returns: whether the bus took it. Otherwise the Job stays unacknowledged and comes again.
    private func publish(_ notice: NodeNotice, to channel: ChannelName<NodeNotice>) async -> Bool {
        let result = await withCheckedContinuation { continuation in
            self.bus.publish(notice.encoded(), to: channel.name) { continuation.resume(returning: $0) }
        }
        guard case .failure(let error) = result else { return true }
        self.logger.warning("answer not published", [.error: "\(error)"])
        return false
    }
}

extension AuthRequestKind {
    /// Frames are counted under their own type.
    fileprivate init(of request: ServiceRequest) {
        self =
            switch request.body {
            case .session: .session
            case .sessionUsed: .sessionUsed
            case .frame(let type, _): AuthRequestKind(rawValue: type) ?? .other
            }
    }
}
