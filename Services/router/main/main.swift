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
        configuration: RedisConfiguration(
            host: redis.host, port: redis.port, user: redis.user, password: redis.password,
            tls: try redis.authorityFile.map(RedisTLS.init)),
        eventLoop: context.eventLoop, logger: context.logger)
    let store = PostgresConfiguration(
        url: try context.settings.postgres().revealed, applicationName: "whisper-router-\(context.instance)",
        sessionSettings: Router.sessionSettings)
    let router = Router(
        configuration: RouterConfiguration(
            // - pending.ttl.seconds (int, default 259200, 1...2592000): how long unacknowledged mail is kept.
            pendingTTL: .seconds(try context.settings.int("pending.ttl.seconds", in: 1...2_592_000, default: 259_200)),
            // - resend.after.seconds (int, default 15, 1...25): when live mail without a receipt is sent again.
            resendAfter: .seconds(try context.settings.int("resend.after.seconds", in: 1...25, default: 15)),
            presence: PresenceConfiguration(
                // - presence.offline.after.seconds (int, default 15, 1...300): absence that peers are not told of.
                offlineAfter: .seconds(
                    try context.settings.int("presence.offline.after.seconds", in: 1...300, default: 15)),
                // - presence.pause.seconds (int, default 30, 1...3600): between two updates about a peer.
                pause: .seconds(try context.settings.int("presence.pause.seconds", in: 1...3_600, default: 30)),
                // - typing.pause.seconds (int, default 2, 1...60): between two notifications of a peer's typing.
                typingPause: .seconds(try context.settings.int("typing.pause.seconds", in: 1...60, default: 2)))),
        bus: bus, store: PostgresConnection(store, logger: context.logger), logger: context.logger)
    let pool = PostgresPool(store, connections: 1, logger: context.logger)
    let presencePool = PostgresPool(store, connections: 1, logger: context.logger)
    let groupPool = PostgresPool(store, connections: RouterLimits.groupConnectionsMax, logger: context.logger)
    let groups = GroupConsumer(
        bus: bus, desk: GroupDesk(pool: groupPool, bus: bus, logger: context.logger), instance: context.instance,
        logger: context.logger)
    return Composition(
        parts: [
            Part("bus", close: bus.close), Part("store", close: pool.close), Part("group-store", close: groupPool.close),
            Part("presence-store", close: presencePool.close),
            Part("sweep", run: { try await router.sweep(pool) }),
            Part("presence", run: { try await router.tellPresence(presencePool) }),
            Part("router", run: router.run, drain: router.drain),
            Part("groups", run: groups.run, drain: groups.drain),
        ],
        readiness: [ReadinessCheck("router") { await router.isReady }])
}
