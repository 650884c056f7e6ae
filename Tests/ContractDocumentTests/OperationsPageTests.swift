import Foundation
import Testing

/// `docs/operations.md` is written by hand; what it must speak of is known.
@Suite struct OperationsPageTests {
    private static func text(_ path: String) throws -> String {
        try String(contentsOf: Folder.root.appending(path: path), encoding: .utf8)
    }

    @Test func everyAlertHasASection() throws {
        let page = try Self.text("docs/operations.md")
        let alerts = try Self.text("deploy/prometheus/alerts.yml").matches(of: #/- alert: (\w+)/#).map { String($0.1) }
        try #require(!alerts.isEmpty)
        for alert in alerts {
            #expect(page.contains("\n### \(alert)\n"), "docs/operations.md does not say what to do about \(alert)")
        }
    }

    @Test func everySecretSaysHowItIsRotated() throws {
        let page = try Self.text("docs/operations.md")
        let section = try #require(page.firstMatch(of: #/\n## Rotate secrets\n(?s)(.*?)\n## /#)?.1)
        let secrets = try Self.text("compose.yaml").matches(of: #/SECRETS:-\./secrets\}/([\w.]+)"/#).map {
            String($0.1)
        }
        try #require(!secrets.isEmpty)
        for secret in secrets {
            let isNamed =
                section.contains(secret)
                || secret.hasSuffix(".key") && section.contains(secret.replacing(".key", with: ".pem"))
                || ["postgres_", "redis_"].contains { secret.hasPrefix($0) && section.contains("`\($0)SERVICE`") }
                || secret == "apns_key.p8" && section.contains("APNs key")
                || secret == "fcm_account.json" && section.contains("FCM account")
            #expect(isNamed, "docs/operations.md does not say how \(secret) is rotated")
        }
    }

    @Test func whatItPointsToIsThere() throws {
        let page = try Self.text("docs/operations.md")
        for link in page.matches(of: #/\]\(([\w-]+\.md)/#) {
            #expect(
                FileManager.default.fileExists(atPath: Folder.documents.appending(path: String(link.1)).path()),
                "\(link.1)")
        }
        for path in page.matches(of: #/`(deploy/[\w./-]+)`/#) {
            #expect(
                FileManager.default.fileExists(atPath: Folder.root.appending(path: String(path.1)).path()), "\(path.1)")
        }
        for subcommand in page.matches(of: #/make admin ARGS="([a-z-]+)/#) {
            let sources = try ["Attachments", "ChangeCommands", "ReadCommands"].map {
                try Self.text("Clients/WhisperAdmin/\($0).swift")
            }.joined()
            #expect(sources.contains("commandName: \"\(subcommand.1)\""), "\(subcommand.1)")
        }
    }

    /// The settings of the backup are named at the top of its script, and nowhere else are there others.
    @Test func theBackupIsToldWhatItKnows() throws {
        let script = try Self.text("deploy/backup/whisper-backup")
        let documented = Set(script.matches(of: #/(?m)^#   (BACKUP_\w+)/#).map { String($0.1) })
        let used = Set(script.matches(of: #/\$\{(BACKUP_\w+)/#).map { String($0.1) })
        #expect(documented == used)
        for path in [
            "compose.yaml", "deploy/systemd/whisper-backup.service", "deploy/systemd/whisper-base-backup.service",
        ] {
            let named = Set(try Self.text(path).matches(of: #/BACKUP_\w+/#).map { String($0.0) }).subtracting([
                "SYNCHRONOUS_BACKUP"
            ])
            #expect(!named.isEmpty && named.isSubset(of: documented), "\(path): \(named.subtracting(documented))")
        }
    }

    @Test func alertsAskForWhatTheBackupWrites() throws {
        let script = try Self.text("deploy/backup/whisper-backup")
        let wanted = Set(
            try Self.text("deploy/prometheus/alerts.yml").matches(of: #/whisper_backup_(\w+)/#).map { String($0.1) })
        #expect(wanted.count >= 2)
        for name in wanted { #expect(script.contains("gauge \(name) "), "the backup writes no whisper_backup_\(name)") }
    }
}
