package import Bus
import Contract
package import Logging
import Synchronization
import Telemetry

/// Takes questions about groups from `Keyspace.groups`, several at a time, and acknowledges each once its answer has been
/// published. Every router has one: any of them may answer, whoever owns the partitions.
package final class GroupConsumer: Sendable {
    package static let group = "router"

    private let bus: any Bus
    private let service: GroupService
    private let consumer: String
    private let claimIdle: Duration
    private let logger: Logger
    private let isDraining = Mutex(false)
    private let drained = AsyncStream.makeStream(of: Never.self, bufferingPolicy: .bufferingOldest(1))

    /// - Parameters:
    ///   - instance: the number of this process among those of its service.
    ///   - claimIdle: see `RouterLimits.groupClaimIdle`.
    package init(
        bus: any Bus, service: GroupService, instance: Int, claimIdle: Duration = RouterLimits.groupClaimIdle, logger: Logger
    ) {
        self.bus = bus
        self.service = service
        self.consumer = "router-\(instance)"
        self.claimIdle = claimIdle
        self.logger = logger
    }

    /// Works until its task is cancelled, or until `drain`.
    package func run() async {
        var claimedAt: ContinuousClock.Instant?
        var ages: EntryAges?
        while !Task.isCancelled, !self.isDraining.withLock({ $0 }) {
            do throws(BusError) {
                var entries: [StreamEntry] = []
                if claimedAt.map({ .now - $0 >= RouterLimits.groupClaimEvery }) ?? true {
                    claimedAt = .now
                    ages = EntryAges(serverTime: try await self.bus.time())
                    entries = try await self.bus.claim(
                        from: Keyspace.groups.name, group: Self.group, consumer: self.consumer, idle: self.claimIdle,
                        limit: RouterLimits.groupJobsMax)
                }
                if entries.isEmpty {
                    entries = try await self.bus.take(
                        from: Keyspace.groups.name, group: Self.group, consumer: self.consumer,
                        limit: RouterLimits.groupJobsMax, blockFor: RouterLimits.readBlockMax)
                }
                let known = ages
                await withDiscardingTaskGroup { jobs in
                    for entry in entries { jobs.addTask { await self.serve(entry, age: known?.age(of: entry.id) ?? .zero) } }
                }
            } catch {
                self.logger.warning("jobs not taken", [.error: "\(error)"])
                try? await Task.sleep(for: RouterLimits.retryPause)
            }
        }
        self.drained.continuation.finish()
    }

    /// Takes no further Jobs, and returns when those taken are done.
    package func drain() async {
        self.isDraining.withLock { $0 = true }
        for await _ in self.drained.stream {}
    }

    private func serve(_ entry: StreamEntry, age: Duration) async {
        let request: ServiceRequest
        do {
            request = try ServiceRequest(decoding: entry.bytes)
        } catch {
            // A newer release's, or a bug. Nobody can be answered, and taking it again would not help.
            self.logger.error("job not understood", [.error: "\(error)"])
            return self.acknowledge(entry)
        }
        let clock = ContinuousClock.now
        guard age < ServiceRequest.frameAgeMax else {
            self.logger.debug("question too old", request.facts(since: clock))
            return self.acknowledge(entry)
        }
        let reply = await self.service.handle(request)
        self.logger.debug("question handled", request.facts(since: clock))
        let answer = NodeEvent.answer(question: request.answer.question, reply.answer)
        for (node, events) in reply.others {
            self.bus.publish(NodeNotice(events: events), to: Keyspace.node(node))
        }
        guard await self.publish(NodeNotice(events: [answer]), to: request.answer.node) else { return }
        self.acknowledge(entry)
    }

    private func acknowledge(_ entry: StreamEntry) {
        self.bus.acknowledge([entry.id], in: Keyspace.groups.name, group: Self.group)
    }

    /// - Returns: whether the bus took it. Otherwise the Job stays unacknowledged and comes again.
    private func publish(_ notice: NodeNotice, to node: NodeID) async -> Bool {
        let result = await withCheckedContinuation { continuation in
            self.bus.publish(notice.encoded(), to: Keyspace.node(node).name) { continuation.resume(returning: $0) }
        }
        guard case .failure(let error) = result else { return true }
        self.logger.warning("answer not published", [.error: "\(error)"])
        return false
    }
}
