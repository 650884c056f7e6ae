import ServiceRuntime

/// Everything auth is told from outside.
struct AuthSettings: ServiceSettings {
    let process = ProcessSettings()
    let http = ListenerSettings.publicHTTP
    let redis = RedisSettings()
    let postgres = PostgresSettings()
    let rates = RateSettings()
    let admin = AdminSettings()
}
