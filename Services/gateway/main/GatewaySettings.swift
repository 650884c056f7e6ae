import ServiceRuntime

/// Everything a gateway is told from outside.
struct GatewaySettings: ServiceSettings {
    let process = ProcessSettings()
    let http = ListenerSettings.publicHTTP
    let redis = RedisSettings()
    let rates = RateSettings()
    let trustedProxies = Setting(
        "trusted.proxies", .list, default: "", "Addresses whose `X-Forwarded-For` is believed: those of the balancers.")
}
