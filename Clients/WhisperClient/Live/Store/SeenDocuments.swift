import Contract
import SQLite

/// Version and counter of our profile's documents when this device last saw them: kept among the settings.
extension LiveStore {
    func seenDocument(_ name: ProfileDocumentName, of profile: UUIDText) throws(ClientStoreError) -> SeenDocument? {
        try self.store.read { try Self.seen(name, of: profile, in: $0) }
    }

    /// Notes a document that was read or written. An older one changes nothing.
    /// - Returns: whether it can follow the one that was seen.
    func note(
        _ document: SeenDocument, as name: ProfileDocumentName, of profile: UUIDText
    ) throws(ClientStoreError) -> Bool {
        try self.store.write { database in
            if let seen = try Self.seen(name, of: profile, in: database), !document.canFollow(seen) { return false }
            try SettingsTable.set(
                Self.setting(name), to: "\(profile) \(document.version) \(document.counter)", in: database)
            return true
        }
    }

    private static func seen(
        _ name: ProfileDocumentName, of profile: UUIDText, in database: Database
    ) throws -> SeenDocument? {
        let words = try SettingsTable.setting(Self.setting(name), in: database)?.split(separator: " ") ?? []
        guard words.count == 3, words[0] == "\(profile)", let version = Int64(words[1]), let counter = Int64(words[2])
        else { return nil }
        return SeenDocument(version: version, counter: counter)
    }

    private static func setting(_ name: ProfileDocumentName) -> String { "profileDocument:\(name.rawValue)" }
}
