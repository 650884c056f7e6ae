import GatewayCore
import ServiceRuntime

/// Everything a gateway is told from outside.
struct GatewaySettings: ServiceSettings {
    let process = ProcessSettings()
    let http = ListenerSettings.publicHTTP
    let redis = RedisSettings()
    let rates = RateSettings()
    let rateClasses = RateClassSettings()
    let openConnectionsMax = Setting(
        "open.connections.max", .integer(in: 1...1_000_000), default: "\(GatewayLimits.openConnectionsMax)",
        "Open connections of one address to one gateway; the scale multiplies it, too.")
    let proxies = ProxySettings()
}
