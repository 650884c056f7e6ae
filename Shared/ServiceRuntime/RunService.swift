import Configuration
import Contract
import Glibc
package import Logging
import Metrics
package import NIOCore
import NIOPosix
package import Telemetry

/// The means from which a service composes itself.
package struct ServiceContext<Group: ServiceSettings>: Sendable {
    package let name: String
    /// Number of this process among those of its service, from 1.
    package let instance: Int
    package let settings: Settings<Group>
    package let logger: Logger
    private let registry: PrometheusRegistry

    /// The executor of the thread that the ops listener and public HTTP are served on, for adapters with little to do.
    package let taskExecutor = LoopTaskExecutor.singleton
    package var eventLoop: any EventLoop { self.taskExecutor.eventLoop }

    /// Adds a gauge that is read at each scrape.
    package func observe(_ gauge: ObservedGauge) {
        self.registry.observe(gauge)
    }

    fileprivate init(
        name: String, instance: Int, settings: Settings<Group>, logger: Logger, registry: PrometheusRegistry
    ) {
        self.name = name
        self.instance = instance
        self.settings = settings
        self.logger = logger
        self.registry = registry
    }
}

/// A task that a program of a service does instead of serving, such as `whisper-auth reapply FILE`. It ends with 0.
package struct ServiceCommand<Group: ServiceSettings>: Sendable {
    /// Its name, and what must stand behind it: `reapply FILE`.
    fileprivate let words: [String]
    fileprivate let run: @Sendable (ServiceContext<Group>, _ arguments: [String]) async throws -> Void

    package init(
        _ words: String..., run: @escaping @Sendable (ServiceContext<Group>, _ arguments: [String]) async throws -> Void
    ) {
        self.words = words
        self.run = run
    }

    fileprivate func takes(_ arguments: [String]) -> Bool {
        arguments.first == self.words.first && arguments.count == self.words.count
    }
}

/// The input of a command was refused, and nothing was changed. The process ends with 2.
package struct InputRefused: Error {
    /// The fault, and what to do next.
    package let reason: String

    package init(_ reason: String) { self.reason = reason }
}

/// The `main` of every service: configuration, logs, metrics, ops listener, signals, drain, exit code.
///
/// ```swift
/// await runService("push", PushSettings()) { context in
///     let bus = RedisBus(configuration: …, eventLoop: context.eventLoop, logger: context.logger)
///     let push = makePush(instance: context.instance, bus: bus, …, logger: context.logger)
///     return Composition(
///         parts: [Part("bus", close: bus.close), Part("push", run: push.run, drain: push.drain)],
///         readiness: [ReadinessCheck("redis") { bus.isConnected }])
/// }
/// ```
/// The process ends with 0 after a drain (SIGTERM, SIGINT) or a command, 2 for input that a command refuses, 78 for a
/// configuration it refuses, 1 otherwise. With the argument `ready` it only asks the process that serves on ops.port: 0 if
/// that is ready, else 1. With `settings` it prints what it can be told (`SettingsList`), with `--version` its name, the
/// release, and the commit if it is known.
/// - Parameters:
///   - group: every setting that the service reads.
///   - commands: what else the program does instead of serving.
///   - migrate: what the argument `migrate` does instead of serving; ops.port is not needed then.
///   - compose: reads the rest of the configuration and makes the parts.
package func runService<Group: ServiceSettings>(
    _ name: String, _ group: Group, commands: [ServiceCommand<Group>] = [],
    migrate: @Sendable (ServiceContext<Group>) async throws -> Void = { _ in },
    compose: @Sendable (ServiceContext<Group>) async throws -> Composition
) async {
    if CommandLine.arguments.dropFirst() == ["--version"] {
        return print(Release.line("whisper-\(name)", revision: BuildRevision.current))
    }
    // A peer that goes away is an error of one write, not the end of the process.
    signal(SIGPIPE, SIG_IGN)
    // One thread for what does not bring its own (ops, public HTTP): six services and more share two cores.
    NIOSingletons.groupLoopCountSuggestion = 1

    let settings = Settings(group, from: ConfigReader(provider: EnvironmentVariablesProvider()))
    var logger = Logger(label: name) { _ in JSONLogHandler(service: name, instance: 1, level: .notice) }
    do {
        if CommandLine.arguments.dropFirst() == ["settings"] {
            print(SettingsList(group).text, terminator: "")
            return
        }
        let (instance, level) = (try settings.process.instance, try settings.process.logLevel)
        LoggingSystem.bootstrap { _ in JSONLogHandler(service: name, instance: instance, level: level) }
        logger = Logger(label: name)
        let registry = PrometheusRegistry(service: name)
        MetricsSystem.bootstrap(registry)
        let context = ServiceContext(
            name: name, instance: instance, settings: settings, logger: logger, registry: registry)

        let arguments = Array(CommandLine.arguments.dropFirst())
        switch arguments {
        case []: try await serve(context, registry: registry, compose: compose)
        case ["migrate"]: try await migrate(context)
        case ["ready"]:
            exit(ReadinessProbe(address: try settings.process.ops.address()).isReady() ? 0 : ExitCode.failure)
        case let other:
            guard let command = commands.first(where: { $0.takes(other) }) else {
                throw UnknownArguments(
                    text: other.joined(separator: " "), known: commands.map { $0.words.joined(separator: " ") })
            }
            try await command.run(context, Array(other.dropFirst()))
        }
    } catch let error as SettingsError {
        logger.critical("configuration refused", [.reason: "\(error)"])
        exit(ExitCode.configuration)
    } catch let error as UnknownArguments {
        let known = (error.known + ["migrate", "ready", "settings"]).joined(separator: ", ")
        logger.critical("arguments refused", [.reason: "\(error.text): only \(known) and --version are known"])
        exit(ExitCode.configuration)
    } catch let error as InputRefused {
        logger.critical("input refused", [.reason: "\(error.reason)"])
        exit(ExitCode.inputRefused)
    } catch {
        logger.critical("ended by an error", [.error: "\(error)"])
        exit(ExitCode.failure)
    }
}

private func serve<Group>(
    _ context: ServiceContext<Group>, registry: PrometheusRegistry,
    compose: @Sendable (ServiceContext<Group>) async throws -> Composition
) async throws {
    let ops = try context.settings.process.ops.address()
    let logger = context.logger
    let composition = try await compose(context)
    let process = ServiceProcess(composition, registry: registry, ops: ops, logger: logger) {
        logger.notice("draining", [:])
        watchDrain(of: composition, logger)
    }
    logger.notice("started", [.pid: .number(getpid())])
    try await process.run()
    logger.notice("ended", [:])
}

/// Ends the process if its parts do not, so that a stuck one cannot outlive the limit.
private func watchDrain(of composition: Composition, _ logger: Logger) {
    // Bare: it must run on when everything that could own it hangs.
    Task.detached {
        try await Task.sleep(for: composition.drainMax + RuntimeLimits.cancellationMax)
        logger.critical("drain took too long", [:])
        exit(ExitCode.failure)
    }
}

private struct UnknownArguments: Error {
    let text: String
    /// The service's own commands.
    let known: [String]
}

/// Numbers above 63 are those of sysexits.h.
private enum ExitCode {
    static let failure: Int32 = 1
    static let inputRefused: Int32 = 2
    /// EX_CONFIG: starting again without another configuration is useless.
    static let configuration: Int32 = 78
}
