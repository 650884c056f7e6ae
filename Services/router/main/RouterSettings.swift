import RouterCore
import ServiceRuntime

/// Everything a router is told from outside.
struct RouterSettings: ServiceSettings {
    let process = ProcessSettings()
    let redis = RedisSettings()
    let postgres = PostgresSettings()
    let pendingTTL = Setting(
        "pending.ttl.seconds", .seconds(in: 1...2_592_000), default: "259200", "How long unacknowledged mail is kept.")
    let resendAfter = Setting(
        "resend.after.seconds", .seconds(in: 1...25), default: "15", "When live mail without a receipt is sent again.")
    let offlineAfter = Setting(
        "presence.offline.after.seconds", .seconds(in: 1...300), default: "15", "Absence that peers are not told of.")
    let presencePause = Setting(
        "presence.pause.seconds", .seconds(in: 1...3_600), default: "30", "Between two updates about one peer.")
    let typingPause = Setting(
        "typing.pause.seconds", .seconds(in: 1...60), default: "2", "Between two notifications of a peer's typing.")
}

extension Settings<RouterSettings> {
    func configuration() throws(SettingsError) -> RouterConfiguration {
        RouterConfiguration(
            pendingTTL: try self.pendingTTL, resendAfter: try self.resendAfter,
            presence: PresenceConfiguration(
                offlineAfter: try self.offlineAfter, pause: try self.presencePause, typingPause: try self.typingPause))
    }
}
