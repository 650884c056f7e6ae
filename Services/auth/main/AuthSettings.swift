import AuthCore
import OperatorsCore
import ServiceRuntime

/// Everything auth is told from outside.
struct AuthSettings: ServiceSettings {
    let process = ProcessSettings()
    let http = ListenerSettings.publicHTTP
    let redis = RedisSettings()
    let postgres = PostgresSettings()
    let rates = RateSettings()
    let proxies = ProxySettings()
    let admin = AdminSettings()
    let openReportsMax = Setting(
        "reports.open.max", .integer(in: 1...10_000), default: "20", "Reports of one reporter that wait for a review.")
    let evidenceLife = Setting(
        "reports.evidence.seconds", .seconds(in: 1...315_360_000), default: "2592000",
        "How long the evidence of a report stays after its review.")
    let reportLife = Setting(
        "reports.life.seconds", .seconds(in: 1...315_360_000), default: "34560000",
        "How long a report stays after its review.")
    let strangerBackupBytesMax = Setting(
        "backup.stranger.bytes", .integer(in: 0...1_048_576), default: "65536",
        "Ciphertext of the contact backup of an identity without any peer, in bytes.")
    let databaseBytesMax = Setting(
        "database.bytes.max", .integer(in: 1_000_000...1_000_000_000_000_000),
        default: "\(OperatorsLimits.databaseBytesMax)",
        "Room that Postgres has for the database, in bytes. Refuses nothing: it is for the alert and the console.")
}

extension Settings<AuthSettings> {
    func configuration() throws(SettingsError) -> AuthConfiguration {
        var configuration = AuthConfiguration()
        configuration.strangerBackupBytesMax = try self.strangerBackupBytesMax
        return configuration
    }

    func operatorsConfiguration() throws(SettingsError) -> OperatorsConfiguration {
        // With the report goes its evidence.
        try self.require(\.evidenceLife, atMost: \.reportLife)
        var configuration = OperatorsConfiguration()
        configuration.openReportsMax = try self.openReportsMax
        configuration.evidenceLife = try self.evidenceLife
        configuration.reportLife = try self.reportLife
        configuration.databaseBytesMax = Int64(try self.databaseBytesMax)
        return configuration
    }
}
