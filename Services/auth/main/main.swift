import AuthCore
import HTTPAccess
import RedisBus
import ServiceRuntime
import Store

await runService("auth") { context in
    let url = try context.settings.postgres().revealed
    try await Auth.migrator.run(
        PostgresConfiguration(url: url, applicationName: "whisper-auth-migrate"), logger: context.logger)
} compose: { context in
    let redis = try context.settings.redis()
    let bus = RedisBus(
        configuration: RedisConfiguration(
            host: redis.host, port: redis.port, user: redis.user, password: redis.password,
            tls: try redis.authorityFile.map(RedisTLS.init)),
        eventLoop: context.eventLoop, logger: context.logger)
    let pool = Auth.pool(url: try context.settings.postgres(), instance: context.instance, logger: context.logger)
    let auth = Auth(
        pool: pool, bus: bus, instance: context.instance,
        // - admin.token, viewer.token (secrets, optional): who may use /admin; the token, or sha256: and its digest in
        //   hexadecimal. A role without a token is nobody's.
        adminTokens: try AdminTokens(
            operator: context.settings.optionalSecret("admin.token"),
            viewer: context.settings.optionalSecret("viewer.token")),
        rateLimitScale: try context.settings.rateLimitScale(), logger: context.logger)
    for gauge in auth.gauges { context.observe(gauge) }
    return Composition(
        parts: [
            Part("bus", close: bus.close), Part("store", close: pool.close),
            Part("auth", run: auth.run, drain: auth.drain),
            HTTPListener.part(
                on: try context.settings.httpAddress(), logger: context.logger, routes: auth.addRoutes),
        ],
        readiness: [
            ReadinessCheck("redis") { bus.isConnected },
            ReadinessCheck("postgres", isReady: auth.canReachStore),
        ],
        opsRoutes: auth.addAdminRoutes)
}
