import PushCore
import RedisBus
import ServiceRuntime

await runService("push") { context in
    let redis = try context.settings.redis()
    let bus = RedisBus(
        configuration: RedisConfiguration(
            host: redis.host, port: redis.port, user: redis.user, password: redis.password,
            tls: try redis.authorityFile.map(RedisTLS.init)),
        eventLoop: context.eventLoop, logger: context.logger)
    let push = makePush(
        instance: context.instance, bus: bus, provider: LogProvider(logger: context.logger), logger: context.logger)
    return Composition(
        parts: [Part("bus", close: bus.close), Part("push", run: push.run, drain: push.drain)],
        readiness: [ReadinessCheck("redis") { bus.isConnected }])
}
