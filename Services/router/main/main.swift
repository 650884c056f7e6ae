import RedisBus
import RouterCore
import ServiceRuntime
import Store

await runService("router", RouterSettings()) { context in
    let url = try context.settings.postgres.conninfo().revealed
    try await routerMigrator.run(
        PostgresConfiguration(url: url, applicationName: "whisper-router-migrate"), logger: context.logger)
} compose: { context in
    let redis = try context.settings.redis.access()
    let bus = RedisBus(
        configuration: RedisConfiguration(
            host: redis.host, port: redis.port, user: redis.user, password: redis.password,
            tls: try redis.authorityFile.map(RedisTLS.init),
            nodes: redis.nodes.map { RedisAddress(host: $0.host, port: $0.port) }),
        eventLoop: context.eventLoop, logger: context.logger)
    let store = PostgresConfiguration(
        url: try context.settings.postgres.conninfo().revealed,
        applicationName: ProcessName("router", context.instance).text,
        sessionSettings: Router.sessionSettings)
    let configuration = try context.settings.configuration()
    let router = Router(
        configuration: configuration, bus: bus,
        store: PostgresConnection(store, callers: context.taskExecutor, logger: context.logger), logger: context.logger)
    let pool = PostgresPool(store, connections: 1, logger: context.logger)
    let ledgerPool = PostgresPool(
        PostgresConfiguration(
            url: try context.settings.postgres.conninfo().revealed,
            applicationName: "whisper-router-walk-\(context.instance)",
            statementTimeout: RouterLimits.ledgerWalkStatementMax),
        connections: 1, logger: context.logger)
    let ledgerWalk = LedgerWalk(
        ledgerPool, isWanted: try context.settings.walksLedger, logger: context.logger)
    let presencePool = PostgresPool(store, connections: 1, logger: context.logger)
    let groupPool = PostgresPool(store, connections: RouterLimits.groupConnectionsMax, logger: context.logger)
    let groupService = GroupService(
        pool: groupPool, bus: bus, configuration: configuration.groups, logger: context.logger)
    let groups = GroupConsumer(
        bus: bus, service: groupService, instance: context.instance, logger: context.logger)
    let erasures = ErasureSweep(
        ErasedMail(pool, groups: groupService) { identity async throws(StoreError) in
            try await router.expireMail(to: identity, pool)
        }, pool: pool, logger: context.logger)
    return Composition(
        parts: [
            Part("bus", close: bus.close), Part("store", close: pool.close),
            Part("group-store", close: groupPool.close), Part("ledger-store", close: ledgerPool.close),
            Part("presence-store", close: presencePool.close),
            // All on the bus' own thread. A small batch, or a round that finds nothing, then changes threads for the database
            // alone, and such changes are most of what they cost.
            Part("sweep", on: context.taskExecutor, run: { try await router.sweep(pool) }),
            Part("erased", on: context.taskExecutor, run: erasures.run),
            Part("ledger-walk", on: context.taskExecutor, run: ledgerWalk.run),
            Part("segments", on: context.taskExecutor, run: { try await router.clearSegments(pool) }),
            Part("presence", on: context.taskExecutor, run: { try await router.tellPresence(presencePool) }),
            Part("router", on: context.taskExecutor, run: router.run, drain: router.drain),
            Part("groups", on: context.taskExecutor, run: groups.run, drain: groups.drain),
        ],
        readiness: [ReadinessCheck("router") { await router.isReady }])
}
