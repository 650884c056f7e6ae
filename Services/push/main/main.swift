import PushCore
import RedisBus
import ServiceRuntime
import Store

await runService("push", PushSettings()) { context in
    let url = try context.settings.postgres.conninfo().revealed
    try await PushService.migrator.run(
        PostgresConfiguration(url: url, applicationName: "whisper-push-migrate"), logger: context.logger)
} compose: { context in
    let redis = try context.settings.redis.access()
    let bus = RedisBus(
        configuration: RedisConfiguration(
            host: redis.host, port: redis.port, user: redis.user, password: redis.password,
            tls: try redis.authorityFile.map(RedisTLS.init),
            nodes: redis.nodes.map { RedisAddress(host: $0.host, port: $0.port) }),
        eventLoop: context.eventLoop, logger: context.logger)
    let pool = PostgresPool(
        PostgresConfiguration(
            url: try context.settings.postgres.conninfo().revealed,
            applicationName: ProcessName("push", context.instance).text),
        connections: PushLimits.connectionsMax, logger: context.logger)
    let configuration = try context.settings.configuration()
    let push = PushService(
        instance: context.instance, bus: bus, pool: pool,
        providers: try configuration.providers(eventLoop: context.eventLoop, logger: context.logger),
        schedule: try context.settings.schedule(), logger: context.logger)
    let erasures = ErasureSweep(ErasedRecipients(pool), pool: pool, logger: context.logger)
    return Composition(
        parts: [
            Part("bus", close: bus.close), Part("store", close: pool.close),
            // On the bus' own thread, as in routers: each change of threads costs more than what is done for one wake-up.
            Part("erased", on: context.taskExecutor, run: erasures.run),
            Part("look", on: context.taskExecutor, run: push.reminders.run),
            Part("mail", on: context.taskExecutor, run: push.mail.run, drain: push.mail.drain),
            Part("calls", on: context.taskExecutor, run: push.calls.run, drain: push.calls.drain),
        ],
        readiness: [
            ReadinessCheck("redis") { bus.isConnected },
            ReadinessCheck("postgres", keptFor: RuntimeLimits.readinessKept) {
                (try? await pool.query("SELECT 1")) != nil
            },
        ])
}
