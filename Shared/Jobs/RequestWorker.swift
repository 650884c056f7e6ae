package import Bus
package import ClusterContract
import Contract
package import Logging
import Telemetry

/// The result of one request.
package enum Reaction: Sendable {
    /// - then: published after the answer has been.
    case answer(Answer, then: ClusterNotice?)
    /// This node is told; nobody waits for an answer.
    case tell(NodeID, NodeEvent)
    /// Done; nobody waits for an answer.
    case done
    /// Not done; to be taken again.
    case later
}

/// Answers what gateways ask a service, and acknowledges each request once its answer has been published.
/// Many of these share a stream, one in each process.
package final class RequestWorker: Sendable {
    private let bus: any JobBus & NoticeBus
    private let worker: StreamWorker
    private let frameAgeMax: Duration
    private let logger: Logger

    /// - Parameters:
    ///   - frameAgeMax: a client's frame that is older is acknowledged without an answer.
    ///   - consumer: its name in the group. Requests held before a crash are claimed after `bounds.claimIdle`.
    ///   - slots: requests handled at a time.
    ///   - depth: told the number of requests in the stream, as often as abandoned ones are looked for.
    package init(
        bus: any JobBus & NoticeBus, stream: StreamName<ServiceRequest>, group: String, consumer: String,
        bounds: StreamConsumer.Bounds, slots: Int, frameAgeMax: Duration = ClusterLimits.frameAgeMax,
        depth: (@Sendable (Int) -> Void)? = nil, logger: Logger
    ) {
        self.bus = bus
        self.frameAgeMax = frameAgeMax
        self.worker = StreamWorker(
            StreamConsumer(
                bus: bus, stream: stream.name, group: group, name: consumer, bounds: bounds, measuresAges: true,
                depth: depth),
            slots: slots, logger: logger)
        self.logger = logger
    }

    /// Requests taken and not done yet.
    package var inFlight: Int { self.worker.inFlight }

    /// Works until its task is cancelled, or until `drain`.
    /// - Parameter handle: is given the time after which a client's frame is not begun.
    package func run(
        _ handle: @escaping @Sendable (ServiceRequest, _ end: ContinuousClock.Instant) async -> Reaction
    ) async {
        await self.worker.run { entries, consumer in
            entries.map { (entry: $0, end: .now + self.frameAgeMax - consumer.age(of: $0.id)) }
        } work: {
            await self.serve($0.entry, until: $0.end, handle)
        }
    }

    /// Takes no further requests, and returns when those taken are done.
    package func drain() async { await self.worker.drain() }

    private func serve(
        _ entry: StreamEntry, until end: ContinuousClock.Instant,
        _ handle: @Sendable (ServiceRequest, _ end: ContinuousClock.Instant) async -> Reaction
    ) async {
        let request: ServiceRequest
        do {
            request = try ServiceRequest(decoding: entry.bytes)
        } catch {
            // A newer release's, or a bug. Nobody can be answered, and taking it again would not help.
            self.logger.error("job not understood", [.error: "\(error)"])
            return self.worker.consumer.acknowledge([entry.id])
        }
        let clock = ContinuousClock.now
        if case .frame = request.body, clock >= end {
            self.logger.debug("question too old", request.facts(since: clock))
            return self.worker.consumer.acknowledge([entry.id])
        }
        let reaction = await handle(request, end)
        self.logger.debug("question handled", request.facts(since: clock))
        switch reaction {
        case .later: return
        case .done: break
        case .answer(let answer, let next):
            let isPublished = await self.publish(
                .answer(question: request.answer.question, answer), to: request.answer.node)
            // An end is announced, whether its cause is answered or not.
            if let next { self.bus.publish(next, to: Keyspace.nodes) }
            guard isPublished else { return }
        case .tell(let node, let event): guard await self.publish(event, to: node) else { return }
        }
        self.worker.consumer.acknowledge([entry.id])
    }

    /// - Returns: whether the bus took it. Otherwise the request stays unacknowledged and comes again.
    private func publish(_ event: NodeEvent, to node: NodeID) async -> Bool {
        let notice = NodeNotice(events: [event])
        let result = await withCheckedContinuation { continuation in
            self.bus.publish(notice.encoded(), to: Keyspace.node(node).name) { continuation.resume(returning: $0) }
        }
        guard case .failure(let error) = result else { return true }
        self.logger.warning("answer not published", [.error: "\(error)"])
        return false
    }
}
