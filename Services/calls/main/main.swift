import CallsCore
import RedisBus
import ServiceRuntime
import Store

await runService("calls") { context in
    let url = try context.settings.postgres().revealed
    try await callsMigrator.run(
        PostgresConfiguration(url: url, applicationName: "whisper-calls-migrate"), logger: context.logger)
} compose: { context in
    let redis = try context.settings.redis()
    let bus = RedisBus(
        configuration: RedisConfiguration(
            host: redis.host, port: redis.port, user: redis.user, password: redis.password,
            tls: try redis.authorityFile.map(RedisTLS.init)),
        eventLoop: context.eventLoop, logger: context.logger)
    let store = PostgresConfiguration(
        url: try context.settings.postgres().revealed, applicationName: "whisper-calls-\(context.instance)")
    let pool = PostgresPool(store, connections: 1, logger: context.logger)
    let configuration = CallsConfiguration(
        // - call.ring.seconds (int, default 45, 1...120): how long a call rings.
        ringTime: .seconds(try context.settings.int("call.ring.seconds", in: 1...120, default: 45)),
        turn: TurnConfiguration(
            // - turn.urls (comma list, 1...16 of turn:… or turns:…, required): the relays that clients are sent to.
            urls: try TurnConfiguration.checked(context.settings.list("turn.urls")),
            // - turn.secret (secret, required): the relays' static-auth-secret.
            secret: try context.settings.secret("turn.secret"),
            // - turn.ttl.seconds (int, default 43200, 1...86400): how long credentials are good.
            ttl: .seconds(try context.settings.int("turn.ttl.seconds", in: 1...86_400, default: 43_200))),
        rateLimitScale: try context.settings.rateLimitScale())
    let desk = CallDesk(
        configuration: configuration, bus: bus, store: PostgresConnection(store, logger: context.logger),
        logger: context.logger)
    let routes = RingingRoutes(
        pool: pool, bus: bus, rateLimitScale: configuration.rateLimitScale, logger: context.logger)
    return Composition(
        parts: [
            Part("bus", close: bus.close), Part("store", close: pool.close),
            Part("calls", run: desk.run, drain: desk.drain),
            HTTPListener.part(on: try context.settings.httpAddress(), logger: context.logger, routes: routes.add),
        ],
        readiness: [
            ReadinessCheck("redis") { bus.isConnected },
            ReadinessCheck("calls") { await desk.isReady },
        ])
}
