import PushCore
import ServiceRuntime

extension Settings {
    /// Everything the push service is told from outside beside its stores. A provider without a key file is replaced by a
    /// line in the log.
    ///
    /// - push.ca.file (path, optional): PEM of authorities to trust beside the system's.
    /// - push.schedule.scale (double, default 1, 0.001...1000): multiplies the pauses of reminders, retries and the budget.
    /// - push.claim.seconds (int, default 30, 1...600): Jobs of a process that has been silent for this long are another's.
    func push() throws -> (configuration: PushConfiguration, schedule: PushSchedule) {
        var configuration = PushConfiguration(
            apns: try self.apns(), fcm: try self.fcm(), webPush: try self.webPush())
        let authorities = try self.string("push.ca.file", default: "")
        if !authorities.isEmpty { configuration.authorities = authorities }
        return (
            configuration,
            PushSchedule(
                scale: try self.double("push.schedule.scale", in: 0.001...1_000, default: 1),
                claimIdle: .seconds(try self.int("push.claim.seconds", in: 1...600, default: 30)))
        )
    }

    /// - apns.key.file (path, optional): the PKCS #8 file (.p8) of the signing key. The next three are then required.
    /// - apns.key.id, apns.team.id (ten characters), apns.bundle.id: as Apple gave them out.
    /// - apns.mail.type (alert|background, default alert): what mail is pushed as.
    /// - apns.url (default https://api.push.apple.com): the sandbox is https://api.sandbox.push.apple.com.
    private func apns() throws -> PushConfiguration.APNs? {
        let file = try self.string("apns.key.file", default: "")
        guard !file.isEmpty else { return nil }
        guard let key = KeyFile.signingKey(file) else {
            throw SettingsError.invalid(key: "apns.key.file", value: file, allowed: "a file with a P-256 key in PEM")
        }
        return PushConfiguration.APNs(
            address: try self.address("apns.url", default: "https://api.push.apple.com"),
            rules: APNsRules(
                topic: try self.string("apns.bundle.id"), mailType: try self.choice("apns.mail.type", default: .alert)),
            key: APNsProvider.Key(
                id: try self.string("apns.key.id"), team: try self.string("apns.team.id"), key: key))
    }

    /// - fcm.account.file (path, optional): the service account's JSON, as Google gives it out.
    /// - fcm.url (default https://fcm.googleapis.com).
    private func fcm() throws -> PushConfiguration.FCM? {
        let file = try self.string("fcm.account.file", default: "")
        guard !file.isEmpty else { return nil }
        guard let account = KeyFile.read(file).flatMap({ ServiceAccount(file: $0) }) else {
            throw SettingsError.invalid(key: "fcm.account.file", value: file, allowed: "the JSON file of a service account")
        }
        return PushConfiguration.FCM(
            address: try self.address("fcm.url", default: "https://fcm.googleapis.com"), account: account)
    }

    /// - webpush.key.file (path, optional): PEM of the VAPID key, on P-256. The next is then required.
    /// - webpush.contact (mailto: or https:): how the operators of push services reach those of this cluster.
    /// - webpush.private.allowed (true|false, default false): whether endpoints may stand on addresses that are not public.
    private func webPush() throws -> PushConfiguration.WebPush? {
        let file = try self.string("webpush.key.file", default: "")
        guard !file.isEmpty else { return nil }
        guard let key = KeyFile.signingKey(file) else {
            throw SettingsError.invalid(key: "webpush.key.file", value: file, allowed: "a file with a P-256 key in PEM")
        }
        let contact = try self.string("webpush.contact")
        guard contact.hasPrefix("mailto:") || contact.hasPrefix("https:") else {
            throw SettingsError.invalid(key: "webpush.contact", value: contact, allowed: "mailto:… or https:…")
        }
        let isAllowed: Answer = try self.choice("webpush.private.allowed", default: .no)
        return PushConfiguration.WebPush(
            rules: WebPushRules(key: key, contact: contact), allowsPrivateAddresses: isAllowed == .yes)
    }

    private enum Answer: String, CaseIterable {
        case yes = "true"
        case no = "false"
    }

    private func address(_ key: String, default text: String) throws -> HTTPSAddress {
        let text = try self.string(key, default: text)
        guard let address = HTTPSAddress(text) else {
            throw SettingsError.invalid(key: key, value: text, allowed: "an https address")
        }
        return address
    }
}
