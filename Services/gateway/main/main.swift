import GatewayCore
import Glibc
import NIOPosix
import RedisBus
import ServiceRuntime

await runService("gateway", GatewaySettings()) { context in
    // A loop for the clients alone: sockets, bus and the gateway's own state live on one thread.
    let eventLoop = MultiThreadedEventLoopGroup(numberOfThreads: 1).next()
    let redis = try context.settings.redis.access()
    let bus = RedisBus(
        configuration: RedisConfiguration(
            host: redis.host, port: redis.port, user: redis.user, password: redis.password,
            tls: try redis.authorityFile.map(RedisTLS.init),
            nodes: redis.nodes.map { RedisAddress(host: $0.host, port: $0.port) }),
        eventLoop: eventLoop, logger: context.logger)
    let address = try context.settings.http.address()
    let gateway = Gateway(
        configuration: GatewayConfiguration(
            host: address.host, port: address.port, rates: try context.settings.rates.table(),
            rateClasses: try context.settings.rateClasses.value(),
            openConnectionsMax: try context.settings.openConnectionsMax,
            trustedProxies: try context.settings.proxies.addresses()),
        bus: bus, eventLoop: eventLoop, logger: context.logger, rest: { usleep(UInt32($0 / .microseconds(1))) })
    return Composition(
        parts: [
            Part("bus", close: bus.close),
            Part("gateway", on: LoopTaskExecutor(eventLoop), run: gateway.run, drain: gateway.drain),
        ],
        readiness: [
            ReadinessCheck("redis") { bus.isConnected }, ReadinessCheck("gateway") { await gateway.isReady },
        ], drainMax: GatewayLimits.drainMax)
}
