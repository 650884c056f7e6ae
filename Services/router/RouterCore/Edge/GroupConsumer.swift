package import Bus
import ClusterContract
import Contract
import Jobs
package import Logging

/// Takes questions about groups from `Keyspace.groups`, several at a time, and has `GroupService` answer them.
/// Every router has one: any of them may answer, whoever owns the partitions.
package struct GroupConsumer: Sendable {
    package static let group = "router"

    private let bus: any Bus
    private let service: GroupService
    private let worker: RequestWorker

    /// - Parameters:
    ///   - instance: the number of this process among those of its service.
    ///   - claimIdle: see `RouterLimits.groupClaimIdle`.
    package init(
        bus: any Bus, service: GroupService, instance: Int, claimIdle: Duration = RouterLimits.groupClaimIdle,
        logger: Logger
    ) {
        self.bus = bus
        self.service = service
        self.worker = RequestWorker(
            bus: bus, stream: Keyspace.groups, group: Self.group, consumer: "router-\(instance)",
            bounds: .init(
                claimIdle: claimIdle, claimEvery: RouterLimits.groupClaimEvery, takeMax: RouterLimits.groupJobsMax,
                takeBlockMax: RouterLimits.groupTakeBlockMax, retryPause: RouterLimits.retryPause),
            slots: RouterLimits.groupJobsMax, logger: logger)
    }

    /// Works until its task is cancelled, or until `drain`.
    package func run() async {
        await self.worker.run { request, _ in
            let reply = await self.service.handle(request)
            for (node, events) in reply.others {
                self.bus.publish(NodeNotice(events: events), to: Keyspace.node(node))
            }
            return .answer(reply.answer, then: nil)
        }
    }

    /// Takes no further Jobs, and returns when those taken are done.
    package func drain() async { await self.worker.drain() }
}
