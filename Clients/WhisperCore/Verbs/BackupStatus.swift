import Contract
import WhisperClient

extension Verb {
    static let backupStatus = Verb(
        "backup_status", of: "upkeep",
        about: "Says whether the server has the contacts as they are here. Backups are written by themselves.",
        type: "backupStatus", [Field("isBackedUp", .bool)], errors: [.noIdentity, .store],
        samples: ("{}", #"{"type":"backupStatus","isBackedUp":true}"#),
        .read { opened, _, json in json.add("isBackedUp", try opened.store.settings.backupChanges() == 0) })
}
