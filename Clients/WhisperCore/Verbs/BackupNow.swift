import Contract
import WhisperClient

extension Verb {
    static let backupNow = Verb(
        "backup_now", of: "upkeep",
        about: "Writes the backup of the contacts now, changed or not. How it goes comes as the event `backup`.",
        type: "backupBegun", errors: [.noIdentity, .offline, .store],
        samples: ("{}", #"{"type":"backupBegun"}"#),
        .client { opened, _, _ in
            guard try await opened.with({ try $0.backup.now($0) }) else { throw CoreError(.offline) }
        })
}
