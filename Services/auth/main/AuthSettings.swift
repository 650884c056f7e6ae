import AuthCore
import Contract
import OperatorsCore
import ServiceRuntime

/// Everything auth is told from outside.
struct AuthSettings: ServiceSettings {
    let process = ProcessSettings()
    let http = ListenerSettings.publicHTTP
    let redis = RedisSettings()
    let postgres = PostgresSettings()
    let rates = RateSettings()
    let rateClasses = RateClassSettings()
    let proxies = ProxySettings()
    let admin = AdminSettings()
    let registration = Setting(
        "registration", .registrationMode, default: RegistrationMode.open.rawValue,
        "Whether somebody new may register, while no operator has chosen. Identities that exist log in whatever it is.")
    let invitationsPerDay = Setting(
        "invitations.per.day", .integer(in: 0...1_000), default: "0",
        "Invitations that each identity may make within a day, for one person each. 0: operators alone invite.")
    let server = ServerSettings()
    let erasuresPerDay = Setting(
        "erasures.per.day", .integer(in: 1...100_000), default: "\(OperatorsLimits.erasuresPerDay)",
        "Identities that operators may erase within a day, all together. People who leave by themselves do not count.")
    let openReportsMax = Setting(
        "reports.open.max", .integer(in: 1...10_000), default: "20", "Reports of one reporter that wait for a review.")
    let evidenceLife = Setting(
        "reports.evidence.seconds", .seconds(in: 1...315_360_000), default: "2592000",
        "How long the evidence of a report stays after its review.")
    let reportLife = Setting(
        "reports.life.seconds", .seconds(in: 1...315_360_000), default: "34560000",
        "How long a report stays after its review.")
    let auditLife = KeptSettings.audit
    let guestLife = KeptSettings.guests
    let deadLetterLife = KeptSettings.deadLetters
    let inactiveDays = KeptSettings.inactive
    let strangerBackupBytesMax = Setting(
        "backup.stranger.bytes", .integer(in: 0...1_048_576), default: "65536",
        "Ciphertext of the contact backup of an identity without any peer, in bytes.")
    let strangers = StrangerSettings()
    let profileBytesMax = Setting(
        "profile.bytes.max", .integer(in: 262_144...16_777_216), default: "\(AuthConfiguration().profileBytesMax)",
        "Ciphertext of all documents of one profile, in bytes.")
    let strangerProfileBytesMax = Setting(
        "profile.stranger.bytes", .integer(in: 0...16_777_216),
        default: "\(AuthConfiguration().strangerProfileBytesMax)",
        "The same of a profile none of whose members has a peer.")
    let profileLife = Setting(
        "profile.life.seconds", .seconds(in: 1...315_360_000), default: "34560000",
        "How long a profile stays that no member does anything with.")
    let unknownEvidenceBytesMax = Setting(
        "reports.evidence.unknown.bytes", .integer(in: 0...524_288),
        default: "\(OperatorsConfiguration().unknownEvidenceBytesMax)",
        "Evidence about a message that the ledger does not know, in bytes.")
    let openEvidenceBytesMax = Setting(
        "reports.evidence.open.bytes", .integer(in: 0...1_073_741_824),
        default: "\(OperatorsConfiguration().openEvidenceBytesMax)",
        "Evidence of one reporter's open reports, in bytes.")
    let databaseBytesMax = Setting(
        "database.bytes.max", .integer(in: 1_000_000...1_000_000_000_000_000),
        default: "\(OperatorsLimits.databaseBytesMax)",
        "Room that Postgres has for the database, in bytes. Refuses nothing: it is for the alert and the console.")
    let prometheus = Setting(
        optional: "prometheus", .address,
        "Prometheus, whose firing alerts the console shows. It is asked each half minute, without a password.")
    let certificate = Setting(
        optional: "certificate.of", .address,
        "The balancer, or whoever else shows clients the certificate. Its end is in the console, and an alert comes 14 days before."
    )
}

extension Settings<AuthSettings> {
    func configuration() throws(SettingsError) -> AuthConfiguration {
        var configuration = AuthConfiguration()
        try self.require(\.strangerProfileBytesMax, atMost: \.profileBytesMax)
        configuration.strangerBackupBytesMax = try self.strangerBackupBytesMax
        configuration.profileBytesMax = try self.profileBytesMax
        configuration.strangerProfileBytesMax = try self.strangerProfileBytesMax
        configuration.profileLife = try self.profileLife
        configuration.guestLife = try self.guestLife
        configuration.strangersBytesMax = try self.strangers.bytes()
        configuration.registration = try self.registration
        configuration.invitationsPerDay = try self.invitationsPerDay
        configuration.inactiveDays = try self.inactiveDays
        configuration.rateClasses = try self.rateClasses.value()
        configuration.server = try self.server.facts(configuration.registration)
        configuration.server.inactiveDays = configuration.inactiveDays
        return configuration
    }

    func operatorsConfiguration() throws(SettingsError) -> OperatorsConfiguration {
        // With the report goes its evidence.
        try self.require(\.evidenceLife, atMost: \.reportLife)
        var configuration = OperatorsConfiguration()
        configuration.openReportsMax = try self.openReportsMax
        configuration.evidenceLife = try self.evidenceLife
        configuration.reportLife = try self.reportLife
        configuration.auditLife = try self.auditLife
        var kept: [(KeptRecord, Duration)] = [
            (.mail, try self.server.pendingTTL), (.backups, try self.server.backupLife), (.audit, try self.auditLife),
            (.guests, try self.guestLife), (.deadLetters, try self.deadLetterLife),
            (.profiles, try self.profileLife), (.reports, try self.reportLife), (.evidence, try self.evidenceLife),
        ]
        if let days = try self.inactiveDays { kept.append((.inactive, .seconds(days * 86_400))) }
        configuration.kept = KeptRecords(kept)
        configuration.unknownEvidenceBytesMax = try self.unknownEvidenceBytesMax
        configuration.openEvidenceBytesMax = try self.openEvidenceBytesMax
        configuration.strangersBytesMax = try self.strangers.bytes()
        configuration.registration = try self.registration
        configuration.rateClasses = try self.rateClasses.value()
        configuration.erasuresPerDay = Int64(try self.erasuresPerDay)
        configuration.databaseBytesMax = Int64(try self.databaseBytesMax)
        configuration.prometheus = try self.prometheus
        configuration.certificate = try self.certificate
        return configuration
    }
}

extension SettingParser<Surroundings.Address> {
    fileprivate static var address: SettingParser {
        SettingParser("`host:port`; `[…]` around an IPv6 address") { text in
            guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
                (1...65_535).contains(port)
            else { return nil }
            let host = text[..<colon]
            let isBracketed = host.first == "[" && host.last == "]"
            let name = isBracketed ? host.dropFirst().dropLast() : host
            guard !name.isEmpty, isBracketed || !name.contains(":") else { return nil }
            return Surroundings.Address(host: String(name), port: port)
        }
    }
}

extension SettingParser<RegistrationMode> {
    fileprivate static var registrationMode: SettingParser {
        SettingParser(RegistrationMode.allCases.map(\.rawValue).joined(separator: ", ")) {
            RegistrationMode(rawValue: $0)
        }
    }
}
