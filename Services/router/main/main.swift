import RedisBus
import RouterCore
import ServiceRuntime
import Store

await runService("router") { context in
    let url = try context.settings.postgres().revealed
    try await routerMigrator.run(
        PostgresConfiguration(url: url, applicationName: "whisper-router-migrate"), logger: context.logger)
} compose: { context in
    let redis = try context.settings.redis()
    let bus = RedisBus(
        configuration: RedisConfiguration(host: redis.host, port: redis.port, password: redis.password),
        eventLoop: context.eventLoop, logger: context.logger)
    let store = PostgresConfiguration(
        url: try context.settings.postgres().revealed, applicationName: "whisper-router-\(context.instance)",
        sessionSettings: Router.sessionSettings)
    let router = Router(
        configuration: RouterConfiguration(
            // - pending.ttl.seconds (int, default 259200, 1...2592000): how long unacknowledged mail is kept.
            pendingTTL: .seconds(try context.settings.int("pending.ttl.seconds", in: 1...2_592_000, default: 259_200)),
            // - resend.after.seconds (int, default 15, 1...25): when live mail without a receipt is sent again.
            resendAfter: .seconds(try context.settings.int("resend.after.seconds", in: 1...25, default: 15))),
        bus: bus, store: PostgresConnection(store, logger: context.logger), logger: context.logger)
    let pool = PostgresPool(store, connections: 1, logger: context.logger)
    return Composition(
        parts: [
            Part("bus", close: bus.close), Part("store", close: pool.close),
            Part("sweep", run: { try await router.sweep(pool) }),
            Part("router", run: router.run, drain: router.drain),
        ],
        readiness: [ReadinessCheck("router") { await router.isReady }])
}
