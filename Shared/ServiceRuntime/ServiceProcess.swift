package import Logging
import ServiceLifecycle
import Telemetry

/// The running process: the ops listener and the parts of a service, from start to the end of the drain.
package struct ServiceProcess: Sendable {
    private let group: ServiceGroup

    /// - Parameters:
    ///   - draining: called once when the process is told to end, before any part drains.
    ///   - opsListening: called with the port once the ops listener is bound.
    package init(
        _ composition: Composition, registry: PrometheusRegistry, ops: ListenAddress, logger: Logger,
        draining: @escaping @Sendable () -> Void = {}, opsListening: @escaping @Sendable (Int) -> Void = { _ in }
    ) {
        let mark = DrainMark()
        let routes = OpsRoutes(
            registry: registry,
            checks: composition.readiness.map {
                Readiness($0, limit: RuntimeLimits.readinessCheckMax, executor: .singleton)
            },
            drain: mark)
        var opsLogger = logger
        opsLogger[.part] = "ops"
        let listener = HTTPListener.server(
            on: ops, connectionsMax: RuntimeLimits.opsConnectionsMax, errors: nil, logger: opsLogger,
            executor: .singleton, listening: opsListening
        ) { router in
            routes.add(to: router)
            composition.opsRoutes(router)
        }
        // Shutdown goes from the last to the first: the mark is set at once, and the ops listener answers to the end.
        let first = Part("ops", service: listener)
        let last = Part(
            "drain",
            close: {
                mark.set()
                draining()
            })
        let heap = Part("heap", run: HeapTrim.run)
        var configuration = ServiceGroupConfiguration(
            services: ([first, heap] + composition.parts + [last]).map {
                .init(service: $0.service, serviceName: $0.name)
            },
            gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        configuration.maximumGracefulShutdownDuration = composition.drainMax
        configuration.logging.keys.serviceKey = LogKey.part.rawValue
        configuration.logging.keys.errorKey = LogKey.error.rawValue
        configuration.logging.keys.signalKey = LogKey.signal.rawValue
        self.group = ServiceGroup(configuration: configuration)
    }

    /// Runs until a signal, `shutDown`, or the end of a part.
    /// - Throws: what a part threw, or that a part ended by itself.
    package func run() async throws {
        try await self.group.run()
    }

    /// As SIGTERM does.
    package func shutDown() async {
        await self.group.triggerGracefulShutdown()
    }
}
