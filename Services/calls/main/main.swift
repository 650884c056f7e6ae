import CallsCore
import ConversationsCore
import Participants
import RedisBus
import RoomsCore
import ServiceRuntime
import Store

await runService("calls", CallsSettings()) { context in
    let url = try context.settings.postgres.conninfo().revealed
    try await callsMigrator.run(
        PostgresConfiguration(url: url, applicationName: "whisper-calls-migrate"), logger: context.logger)
} compose: { context in
    let redis = try context.settings.redis.access()
    let bus = RedisBus(
        configuration: RedisConfiguration(
            host: redis.host, port: redis.port, user: redis.user, password: redis.password,
            tls: try redis.authorityFile.map(RedisTLS.init),
            nodes: redis.nodes.map { RedisAddress(host: $0.host, port: $0.port) }),
        eventLoop: context.eventLoop, logger: context.logger)
    let url = try context.settings.postgres.conninfo().revealed
    let store = PostgresConfiguration(url: url, applicationName: ProcessName("calls", context.instance).text)
    let pool = PostgresPool(store, connections: 1, logger: context.logger)
    func connection(_ owner: String) -> PostgresConnection {
        PostgresConnection(
            PostgresConfiguration(url: url, applicationName: "whisper-\(owner)-\(context.instance)"),
            callers: context.taskExecutor, logger: context.logger)
    }
    let configuration = try context.settings.configuration()
    let coordinator = CallCoordinator(
        configuration: configuration, bus: bus, store: connection("calls"), logger: context.logger)
    let live = LiveCoordinator(
        bus: bus, store: connection("calls-live"), leaseInterval: configuration.leaseInterval,
        bounds: try context.settings.liveBounds(), kept: try context.settings.keptBounds(), logger: context.logger)
    let rooms = RoomCoordinator(
        bus: bus, store: connection("calls-rooms"), turn: configuration.turn,
        leaseInterval: configuration.leaseInterval, logger: context.logger)
    let erasedCalls = ErasureSweep(ErasedCalls(pool, bus: bus), pool: pool, logger: context.logger)
    let erasedLive = ErasureSweep(ErasedConversations(pool, bus: bus), pool: pool, logger: context.logger)
    let erasedRooms = ErasureSweep(ErasedRooms(pool, bus: bus), pool: pool, logger: context.logger)
    let strangers = StrangerCount(pool: pool, bounds: try context.settings.keptBounds(), logger: context.logger)
    let looks = LookRoutes(
        pool: pool, bus: bus, rates: configuration.rates, trustedProxies: configuration.trustedProxies,
        logger: context.logger)
    let transcripts = TranscriptRoutes(
        pool: pool, bus: bus, rates: configuration.rates, trustedProxies: configuration.trustedProxies,
        kept: try context.settings.keptBounds(), logger: context.logger)
    let shares = ShareRoutes(
        pool: pool, bus: bus, rates: configuration.rates, trustedProxies: configuration.trustedProxies,
        logger: context.logger)
    let roomRoutes = RoomRoutes(
        pool: pool, bus: bus, rates: configuration.rates, trustedProxies: configuration.trustedProxies,
        logger: context.logger)
    let routes = RingingRoutes(
        pool: pool, bus: bus, rates: configuration.rates, trustedProxies: configuration.trustedProxies,
        logger: context.logger)
    return Composition(
        parts: [
            Part("bus", close: bus.close), Part("store", close: pool.close),
            // On the bus' own thread, as in routers: a look that finds nothing changes threads for the database alone.
            Part("calls", on: context.taskExecutor, run: coordinator.run, drain: coordinator.drain),
            Part("live", on: context.taskExecutor, run: live.run, drain: live.drain),
            Part("rooms", on: context.taskExecutor, run: rooms.run, drain: rooms.drain),
            Part("strangers", on: context.taskExecutor, run: strangers.run),
            Part("erased-calls", on: context.taskExecutor, run: erasedCalls.run),
            Part("erased-live", on: context.taskExecutor, run: erasedLive.run),
            Part("erased-rooms", on: context.taskExecutor, run: erasedRooms.run),
            HTTPListener.part(on: try context.settings.http.address(), logger: context.logger) {
                routes.add(to: $0)
                looks.add(to: $0)
                transcripts.add(to: $0)
                shares.add(to: $0)
                roomRoutes.add(to: $0)
                WebRoutes().add(to: $0)
            },
        ],
        readiness: [
            ReadinessCheck("redis") { bus.isConnected },
            ReadinessCheck("calls") { await coordinator.isReady },
            ReadinessCheck("live") { await live.isReady },
            ReadinessCheck("rooms") { await rooms.isReady },
        ])
}
