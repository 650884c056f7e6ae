import AuthCore
import Contract
import ServiceRuntime

/// Settings of the answer to `GET /server`.
struct ServerSettings: SettingGroup {
    let name = Setting(
        "server.name", .name, default: AuthConfiguration().server.name, "The server's name, as apps show it.")
    let contact = Setting(
        optional: "server.operator", .link("mailto:", "https:"), "Who runs the server: where people may ask.")
    let privacy = Setting(optional: "server.privacy", .link("https:"), "Page that says what the server keeps.")
    let guests = Setting(
        "guests", .truth, default: "true", "Whether people without an identity may listen and join rooms.")
    let keepsInviters = Setting(
        "invitations.keep", .truth, default: "false",
        "Whether the server keeps who has made an invitation. `GET /server` and the export of that identity say so.")
    let pendingTTL = MailSettings.pendingTTL
    let backupLife = KeptSettings.backups
}

extension Settings<ServerSettings> {
    /// - Parameter registration: while no operator has chosen.
    func facts(_ registration: RegistrationMode) throws(SettingsError) -> ServerOperations.Facts {
        ServerOperations.Facts(
            name: try self.name, registration: registration, hasGuests: try self.guests,
            // A part of an hour counts as one.
            pendingHours: (try self.pendingTTL.components.seconds + 3_599) / 3_600,
            ledgerDays: Limits.ledgerTTL.components.seconds / 86_400,
            backupDays: try self.backupLife.components.seconds / 86_400,
            inactiveDays: nil, keepsInviters: try self.keepsInviters, contact: try self.contact,
            privacy: try self.privacy)
    }
}

extension SettingParser<String> {
    fileprivate static var name: SettingParser {
        SettingParser("a text of \(Limits.serverNameCharacters.upperBound) characters at most") {
            Limits.serverNameCharacters.contains($0.unicodeScalars.count) ? $0 : nil
        }
    }

    fileprivate static func link(_ schemes: String...) -> SettingParser {
        SettingParser(schemes.map { $0 + "…" }.joined(separator: " or ")) { text in
            let isShort = Limits.serverLinkCharacters.contains(text.unicodeScalars.count)
            return isShort && schemes.contains { text.hasPrefix($0) } ? text : nil
        }
    }
}
