import AttachmentsCore
import HTTPAccess
import RedisBus
import ServiceRuntime
import Store
import Telemetry

await runService("attachments", AttachmentsSettings()) { context in
    let url = try context.settings.postgres.conninfo().revealed
    try await Attachments.migrator.run(
        PostgresConfiguration(url: url, applicationName: "whisper-attachments-migrate"), logger: context.logger)
} compose: { context in
    let configuration = try context.settings.configuration()
    let redis = try context.settings.redis.access()
    let bus = RedisBus(
        configuration: RedisConfiguration(
            host: redis.host, port: redis.port, user: redis.user, password: redis.password,
            tls: try redis.authorityFile.map(RedisTLS.init),
            nodes: redis.nodes.map { RedisAddress(host: $0.host, port: $0.port) }),
        eventLoop: context.eventLoop, logger: context.logger)
    let pool = Attachments.pool(
        url: try context.settings.postgres.conninfo(), instance: context.instance, logger: context.logger)
    let metrics = AttachmentMetrics()
    let (store, closeStore) = try await openObjectStore(
        context.settings.objects, context: context, metrics: metrics)
    let attachments = Attachments(
        pool: pool, bus: bus, store: store, configuration: configuration,
        adminTokens: try AdminTokens(
            operator: context.settings.admin.operatorToken,
            viewer: context.settings.admin.viewerToken),
        metrics: metrics, logger: context.logger)
    for gauge in attachments.gauges { context.observe(gauge) }
    return Composition(
        parts: [
            Part("bus", close: bus.close), Part("store", close: pool.close), Part("objects", close: closeStore),
            Part("attachments", run: attachments.run),
            HTTPListener.part(
                on: try context.settings.http.address(), logger: context.logger, routes: attachments.addRoutes),
        ],
        readiness: [
            ReadinessCheck("redis") { bus.isConnected },
            ReadinessCheck("postgres", keptFor: RuntimeLimits.readinessKept, isReady: attachments.canReachStore),
        ],
        opsRoutes: attachments.addOperatorRoutes)
}
