import AuthCore
import HTTPAccess
import OperatorsCore
import RedisBus
import ServiceRuntime
import Store

await runService("auth", AuthSettings(), commands: [.marks, .reapply]) { context in
    let url = try context.settings.postgres.conninfo().revealed
    // One schema, one sequence of versions: the migrator puts the steps of both cores into their order.
    try await Migrator(schema: "auth", migrations: Auth.migrations + Operators.migrations).run(
        PostgresConfiguration(url: url, applicationName: "whisper-auth-migrate"), logger: context.logger)
} compose: { context in
    let redis = try context.settings.redis.access()
    let bus = RedisBus(
        configuration: RedisConfiguration(
            host: redis.host, port: redis.port, user: redis.user, password: redis.password,
            tls: try redis.authorityFile.map(RedisTLS.init),
            nodes: redis.nodes.map { RedisAddress(host: $0.host, port: $0.port) }),
        eventLoop: context.eventLoop, logger: context.logger)
    let pool = Auth.pool(
        url: try context.settings.postgres.conninfo(), instance: context.instance, logger: context.logger)
    let rates = try context.settings.rates.table()
    let operators = Operators(
        pool: pool, identities: IdentityAccess(pool: pool, keys: bus, logger: context.logger), bus: bus,
        tokens: try AdminTokens(
            operator: context.settings.admin.operatorToken,
            viewer: context.settings.admin.viewerToken),
        rates: rates, configuration: try context.settings.operatorsConfiguration(), logger: context.logger)
    let auth = Auth(
        pool: pool, bus: bus, instance: context.instance, operators: operators, rates: rates,
        trustedProxies: try context.settings.proxies.addresses(),
        configuration: try context.settings.configuration(), logger: context.logger)
    for gauge in auth.gauges { context.observe(gauge) }
    return Composition(
        parts: [
            Part("bus", close: bus.close), Part("store", close: pool.close),
            // On the bus' own thread, as in routers: a login changes threads for the database alone.
            Part("operators", on: context.taskExecutor, run: operators.run),
            Part("auth", on: context.taskExecutor, run: auth.run, drain: auth.drain),
            HTTPListener.part(
                on: try context.settings.http.address(), logger: context.logger, routes: auth.addRoutes),
        ],
        readiness: [
            ReadinessCheck("redis") { bus.isConnected },
            ReadinessCheck("postgres", keptFor: RuntimeLimits.readinessKept, isReady: auth.canReachStore),
        ],
        opsRoutes: operators.addRoutes)
}
