import Contract
import WhisperClient

extension Verb {
    static let backupDelete = Verb(
        "backup_delete", of: "upkeep",
        about:
            "Deletes the backup of the contacts at the server. The next change writes another, unless the setting `backup` is off.",
        type: "backupDeleted", errors: [.noIdentity, .offline, .unreachable, .tooMany, .server, .store],
        samples: ("{}", #"{"type":"backupDeleted"}"#),
        .server { opened, _, _ in try await opened.with { try await $0.backup.delete($0) } })
}
