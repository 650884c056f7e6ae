import Foundation
import LocalStack
import Testing

/// Settings that are right one by one and wrong together: no service starts with them, and it says which to change.
@Suite struct SettingConflictTests {
    struct Conflict: Sendable, CustomTestStringConvertible {
        var service: String
        var settings: [String: String]
        var complaint: String

        init(_ service: String, _ settings: [String: String], _ complaint: String) {
            self.service = service
            self.settings = settings
            self.complaint = complaint
        }

        var testDescription: String { "\(self.service): \(self.complaint)" }
    }

    private static let conflicts: [Conflict] = [
        Conflict(
            "router", ["PENDING_TTL_SECONDS": "15"],
            "RESEND_AFTER_SECONDS is \"15\", must be less than PENDING_TTL_SECONDS, which is \"15\""),
        Conflict(
            "router", ["MAILBOX_STRANGER_MESSAGES_MAX": "20001"],
            "MAILBOX_STRANGER_MESSAGES_MAX is \"20001\", must be at most MAILBOX_STRANGERS_MESSAGES_MAX, which is \"20000\""
        ),
        Conflict(
            "router", ["MAILBOX_MESSAGES_MAX": "10000"],
            "MAILBOX_STRANGERS_MESSAGES_MAX is \"20000\", must be at most MAILBOX_MESSAGES_MAX, which is \"10000\""),
        Conflict(
            "router", ["MAILBOX_STRANGERS_BYTES_MAX": "1000000"],
            "MAILBOX_STRANGER_BYTES_MAX is \"16777216\", must be at most MAILBOX_STRANGERS_BYTES_MAX, which is \"1000000\""
        ),
        Conflict(
            "router", ["MAILBOX_BYTES_MAX": "1000000"],
            "MAILBOX_STRANGERS_BYTES_MAX is \"268435456\", must be at most MAILBOX_BYTES_MAX, which is \"1000000\""),
        Conflict(
            "router", ["GROUPS_OWNED_MAX": "1001"],
            "GROUPS_OWNED_MAX is \"1001\", must be at most GROUPS_JOINED_MAX, which is \"1000\""),
        Conflict(
            "router", ["GROUPS_BY_STRANGERS_MAX": "1001"],
            "GROUPS_BY_STRANGERS_MAX is \"1001\", must be at most GROUPS_JOINED_MAX, which is \"1000\""),
        Conflict(
            "router", ["PRESENCE_OFFLINE_AFTER_SECONDS": "30"],
            "PRESENCE_OFFLINE_AFTER_SECONDS is \"30\", must be less than PRESENCE_PAUSE_SECONDS, which is \"30\""),
        Conflict(
            "router", ["PRESENCE_OFFLINE_AFTER_SECONDS": "2"],
            "TYPING_PAUSE_SECONDS is \"2\", must be less than PRESENCE_OFFLINE_AFTER_SECONDS, which is \"2\""),
        Conflict(
            "push", ["PUSH_CLAIM_SECONDS": "21"],
            "PUSH_CLAIM_SECONDS is \"21\", must be more than 21 s times PUSH_SCHEDULE_SCALE, which is \"1\""),
        Conflict(
            "push", ["PUSH_CLAIM_SECONDS": "10", "PUSH_SCHEDULE_SCALE": "0.5"],
            "PUSH_CLAIM_SECONDS is \"10\", must be more than 21 s times PUSH_SCHEDULE_SCALE, which is \"0.5\""),
        Conflict(
            "auth", ["REPORTS_LIFE_SECONDS": "1000"],
            "REPORTS_EVIDENCE_SECONDS is \"2592000\", must be at most REPORTS_LIFE_SECONDS, which is \"1000\""),
        Conflict(
            "calls", ["TURN_TTL_SECONDS": "45"],
            "CALL_RING_SECONDS is \"45\", must be less than TURN_TTL_SECONDS, which is \"45\""),
        Conflict(
            "attachments", ["UPLOAD_URL_SECONDS": "86400"],
            "UPLOAD_URL_SECONDS is \"86400\", must be less than GC_UNLINKED_SECONDS, which is \"86400\""),
        Conflict(
            "attachments", ["GC_LIFE_SECONDS": "3600", "GC_ACKNOWLEDGED_SECONDS": "3600"],
            "GC_UNLINKED_SECONDS is \"86400\", must be at most GC_LIFE_SECONDS, which is \"3600\""),
        Conflict(
            "attachments", ["GC_ACKNOWLEDGED_SECONDS": "2592001"],
            "GC_ACKNOWLEDGED_SECONDS is \"2592001\", must be at most GC_LIFE_SECONDS, which is \"2592000\""),
        Conflict(
            "attachments", ["DISK_UPLOADS_PER_IDENTITY": "257"],
            "DISK_UPLOADS_PER_IDENTITY is \"257\", must be at most DISK_TRANSFERS_MAX, which is \"256\""),
        Conflict(
            "attachments", ["DISK_DOWNLOADS_PER_IDENTITY": "257"],
            "DISK_DOWNLOADS_PER_IDENTITY is \"257\", must be at most DISK_TRANSFERS_MAX, which is \"256\""),
    ]

    @Test(arguments: conflicts) func aServiceDoesNotStart(conflict: Conflict) async throws {
        let log = try await self.end(of: conflict.service, with: conflict.settings)
        // The log is JSON: quotes are escaped in it.
        let complaint = conflict.complaint.replacing("\"", with: "\\\"")
        #expect(log.contains("\(complaint): change one of them"), "\(log)")
    }

    /// A class of rates that names a rate that there is not.
    @Test(arguments: ["gateway", "auth"]) func aClassOfRatesThatIsNoneStopsTheStart(service: String) async throws {
        let log = try await self.end(of: service, with: ["RATE_CLASSES": "bot: send_mesage=300"])
        #expect(log.contains("RATE_CLASSES is \\\"bot: send_mesage=300\\\", must be at most 8 classes like"), "\(log)")
    }

    /// Starts a service, which refuses.
    /// - Returns: its log.
    private func end(of service: String, with settings: [String: String]) async throws -> String {
        let folder = try TemporaryFolder(named: "settings")
        defer { folder.remove() }
        // All that it needs otherwise. Nothing listens there.
        let complete = [
            "OPS_PORT": "1", "HTTP_PORT": "1", "POSTGRES_URL": "postgres://127.0.0.1:1", "REDIS_PORT": "1",
            "TURN_URLS": "turn:127.0.0.1", "TURN_SECRET": "secret", "PUBLIC_URL": "http://127.0.0.1",
            "SIGNING_SECRET": String(repeating: "s", count: 32), "DISK_FOLDER": folder.path + "/files",
        ]
        let command = Command(
            "\(StackConfiguration.programsBesideThisOne)/whisper-\(service)",
            environment: complete.merging(settings) { $1 }, log: folder.path + "/log")
        let process = try await ChildProcess.start(command, name: service)
        // One that starts goes on trying to reach Postgres and Redis.
        let watch = Task {
            try await Task.sleep(for: .seconds(20))
            await process.kill()
        }
        #expect(await process.end() == .exited(78))
        watch.cancel()
        return try String(contentsOfFile: folder.path + "/log", encoding: .utf8)
    }
}
