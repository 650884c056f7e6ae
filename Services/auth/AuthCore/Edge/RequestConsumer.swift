package import Bus
import ClusterContract
import Contract
import Jobs
package import Logging
package import Telemetry

/// Takes Jobs from `Keyspace.auth`, several at a time, and has `RequestHandler` answer them.
package struct RequestConsumer: Sendable {
    package static let group = "auth"

    private let handler: RequestHandler
    private let metrics: AuthMetrics
    private let worker: RequestWorker

    /// - Parameters:
    ///   - instance: the number of this process among those of its service: what it held before a crash it holds again.
    ///   - claimIdle: see `AuthLimits.claimIdle`.
    ///   - frameAgeMax: a client's frame that is older gets no answer.
    package init(
        bus: any JobBus & NoticeBus, handler: RequestHandler, instance: Int, claimIdle: Duration = AuthLimits.claimIdle,
        frameAgeMax: Duration = ClusterLimits.frameAgeMax, metrics: AuthMetrics = AuthMetrics(), logger: Logger
    ) {
        self.handler = handler
        self.metrics = metrics
        self.worker = RequestWorker(
            bus: bus, stream: Keyspace.auth, group: Self.group, consumer: "auth-\(instance)",
            bounds: .init(
                claimIdle: claimIdle, claimEvery: AuthLimits.claimEvery, takeMax: AuthLimits.jobsInFlightMax,
                takeBlockMax: AuthLimits.takeBlockMax, retryPause: AuthLimits.busPause),
            slots: AuthLimits.jobsInFlightMax, frameAgeMax: frameAgeMax, depth: { metrics.busDepth.set($0) },
            logger: logger)
    }

    /// Jobs taken and not done yet.
    package var jobsInFlight: Int { self.worker.inFlight }

    /// Works until its task is cancelled, or until `drain`.
    package func run() async {
        await self.worker.run { request, end in
            let clock = ContinuousClock.now
            let reaction = await self.handler.handle(request, until: end)
            self.metrics.requests[AuthRequestKind(of: request)].increment()
            self.metrics.seconds.record(duration: ContinuousClock.now - clock)
            return reaction
        }
    }

    /// Takes no further Jobs, and returns when those taken are done.
    package func drain() async { await self.worker.drain() }
}

extension AuthRequestKind {
    /// Frames are counted under their own type.
    fileprivate init(of request: ServiceRequest) {
        self =
            switch request.body {
            case .session: .session
            case .sessionUsed: .sessionUsed
            case .guest: .guest
            case .guestMoved: .guestMoved
            case .frame(let type, _): AuthRequestKind(rawValue: type) ?? .other
            }
    }
}
