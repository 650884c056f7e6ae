import PushCore
import ServiceRuntime

/// Everything push is told from outside. A provider without a key file is replaced by a line in the log.
struct PushSettings: ServiceSettings {
    let process = ProcessSettings()
    let redis = RedisSettings()
    let postgres = PostgresSettings()
    let apns = APNsSettings()
    let fcm = FCMSettings()
    let webPush = WebPushSettings()
    let authorities = Setting(optional: "push.ca.file", .path, "PEM of authorities to trust beside the system's.")
    let scheduleScale = Setting(
        "push.schedule.scale", .number(in: 0.001...1_000), default: "1",
        "Multiplies the pauses of reminders, retries and the budget.")
    let claim = Setting(
        "push.claim.seconds", .seconds(in: 1...600), default: "30",
        "Jobs of a process that has been silent for this long are another's.")
    let deadLetterLife = KeptSettings.deadLetters
}

struct APNsSettings: SettingGroup {
    private static let withKey = "with APNS_KEY_FILE"
    let key = Setting(
        optional: "apns.key.file", SettingParser("a file with a P-256 key in PEM") { KeyFile.signingKey($0) },
        "The signing key, as Apple gave it out (.p8). Without one nothing is pushed to APNs.")
    let keyID = Setting("apns.key.id", .text, needed: withKey, "The key's id, of ten characters.")
    let team = Setting("apns.team.id", .text, needed: withKey, "The team's id, of ten characters.")
    let bundle = Setting("apns.bundle.id", .text, needed: withKey, "The app's bundle id.")
    let mailType = Setting<APNsRules.MailType>(
        "apns.mail.type", .choice, default: "alert", "What mail is pushed as (docs/architecture.md, \"Wake-ups\").")
    let address = Setting(
        "apns.url", .httpsAddress, default: "https://api.push.apple.com",
        "APNs; the sandbox is `https://api.sandbox.push.apple.com`.")
}

struct FCMSettings: SettingGroup {
    let account = Setting(
        optional: "fcm.account.file",
        SettingParser("the JSON file of a service account") { KeyFile.read($0).flatMap { ServiceAccount(file: $0) } },
        "The service account, as Google gave it out. Without one nothing is pushed to FCM.")
    let address = Setting("fcm.url", .httpsAddress, default: "https://fcm.googleapis.com", "FCM.")
}

struct WebPushSettings: SettingGroup {
    let key = Setting(
        optional: "webpush.key.file", SettingParser("a file with a P-256 key in PEM") { KeyFile.signingKey($0) },
        "The VAPID key. Without one nothing is pushed to Web Push endpoints.")
    let contact = Setting(
        "webpush.contact", .text(from: "mailto:", "https:"), needed: "with WEBPUSH_KEY_FILE",
        "How the operators of push services reach those of this cluster.")
    let allowsPrivateAddresses = Setting(
        "webpush.private.allowed", .truth, default: "false",
        "Whether endpoints may stand on addresses that are not public.")
}

extension SettingParser<HTTPSAddress> {
    fileprivate static var httpsAddress: SettingParser { SettingParser("an https address") { HTTPSAddress($0) } }
}

extension Settings<PushSettings> {
    func configuration() throws(SettingsError) -> PushConfiguration {
        PushConfiguration(
            apns: try self.apns.configuration(), fcm: try self.fcm.configuration(),
            webPush: try self.webPush.configuration(), authorities: try self.authorities)
    }

    func schedule() throws(SettingsError) -> PushSchedule {
        // A Job that is still pushed here must not be another's. Tests make all times shorter.
        try self.require(\.claim, above: PushLimits.claimIdleAbove, times: \.scheduleScale)
        return PushSchedule(
            scale: try self.scheduleScale, claimIdle: try self.claim, deadLetterLife: try self.deadLetterLife)
    }
}

extension Settings<APNsSettings> {
    fileprivate func configuration() throws(SettingsError) -> PushConfiguration.APNs? {
        guard let key = try self.key else { return nil }
        return PushConfiguration.APNs(
            address: try self.address, rules: APNsRules(topic: try self.bundle, mailType: try self.mailType),
            key: APNsProvider.Key(id: try self.keyID, team: try self.team, key: key))
    }
}

extension Settings<FCMSettings> {
    fileprivate func configuration() throws(SettingsError) -> PushConfiguration.FCM? {
        guard let account = try self.account else { return nil }
        return PushConfiguration.FCM(address: try self.address, account: account)
    }
}

extension Settings<WebPushSettings> {
    fileprivate func configuration() throws(SettingsError) -> PushConfiguration.WebPush? {
        guard let key = try self.key else { return nil }
        return PushConfiguration.WebPush(
            rules: WebPushRules(key: key, contact: try self.contact),
            allowsPrivateAddresses: try self.allowsPrivateAddresses)
    }
}
