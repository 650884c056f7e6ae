package import Hummingbird
package import ServiceLifecycle

/// One long-running part of a process: a bus, a listener, the core of a service.
package struct Part: Sendable {
    package let name: String
    let service: any Service

    /// A part that knows graceful shutdown itself.
    package init(_ name: String, service: any Service) {
        self.name = name
        self.service = service
    }

    /// - Parameters:
    ///   - run: works until its task is cancelled. Ending by itself, or throwing, ends the process with code 1.
    ///   - drain: called at SIGTERM while `run` goes on: stop taking work, finish what was taken, return. Afterwards
    ///     (or after `Composition.drainMax`) `run` is cancelled.
    ///   - executor: where `run` prefers to run; by default on the threads that all parts share.
    package init(
        _ name: String, on executor: (any TaskExecutor)? = nil, run: @escaping @Sendable () async throws -> Void,
        drain: @escaping @Sendable () async -> Void = {}
    ) {
        let loop = { @Sendable in try await withTaskExecutorPreference(executor) { try await run() } }
        self.init(name, service: DrainedLoop(loop: loop, drain: drain))
    }

    /// A part that works from its making on and needs only to be closed, after everything listed behind it has drained.
    package init(_ name: String, close: @escaping @Sendable () async -> Void) {
        self.init(name, run: Part.idle, drain: close)
    }

    /// Lasts until it is cancelled.
    static func idle() async throws {
        while true { try await Task.sleep(for: .seconds(86_400)) }
    }
}

/// The parts of a service, and how it runs.
package struct Composition: Sendable {
    /// Started in this order. Drained one by one in the opposite order: put what others stand on first.
    package var parts: [Part]
    package var readiness: [ReadinessCheck]
    /// Time that all parts together have to drain before they are cancelled.
    package var drainMax: Duration
    /// Further routes of the ops listener.
    package var opsRoutes: @Sendable (Router<BasicRequestContext>) -> Void

    package init(
        parts: [Part], readiness: [ReadinessCheck] = [], drainMax: Duration = RuntimeLimits.drainMax,
        opsRoutes: @escaping @Sendable (Router<BasicRequestContext>) -> Void = { _ in }
    ) {
        self.parts = parts
        self.readiness = readiness
        self.drainMax = drainMax
        self.opsRoutes = opsRoutes
    }
}

/// Runs a loop until graceful shutdown, then its drain, then cancels the loop.
private struct DrainedLoop: Service {
    let loop: @Sendable () async throws -> Void
    let drain: @Sendable () async -> Void

    private enum End {
        case loop, drain
    }

    func run() async throws {
        try await withThrowingTaskGroup(of: End.self) { group in
            group.addTask {
                do {
                    try await self.loop()
                } catch is CancellationError {}
                return .loop
            }
            group.addTask {
                do {
                    try await gracefulShutdown()
                } catch {
                    return .drain  // Cancelled: no time left to drain.
                }
                await self.drain()
                return .drain
            }
            // A loop that ends because its drain has begun waits for the drain; one that ends by itself does not.
            if try await group.next() == .loop, Task.isShuttingDownGracefully { _ = try await group.next() }
            group.cancelAll()
        }
    }
}
