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

    /// The server's document stands for the one that was seen, and is written over. No device has seen a counter that is
    /// greater than the next one.
    func repair(
        _ name: ProfileDocumentName, over shown: SeenDocument, of profile: UUIDText
    ) throws(ClientStoreError) {
        try self.store.write { database in
            let seen = try Self.seen(name, of: profile, in: database)?.counter ?? 0
            let others = try self.devices(in: database).compactMap { $0.device.seen?[name.rawValue] }
            let counter = others.reduce(max(seen, shown.counter), max)
            try SettingsTable.set(Self.setting(name), to: "\(profile) \(shown.version) \(counter)", in: database)
            var document = try self.documents.document(name, in: database) ?? ProfileTable.Document()
            (document.version, document.changes) = (shown.version, document.changes + 1)
            try self.documents.set(document, as: name, in: database)
        }
    }

    // MARK: What other devices have seen

    private func devices(in database: Database) throws -> [(id: String, device: SharedDevice)] {
        try self.documents.contents(.user, in: database).registers(below: ["devices"]).compactMap { path, register in
            guard path.count == 2, var device = register.value.flatMap({ SharedDevice($0) }) else { return nil }
            let seen = ProfileMerge.counts(of: register)
            device.seen = seen.isEmpty ? nil : seen
            return (path[1], device)
        }
    }

    /// Tells the other devices which documents this one has seen, but for the one in which it stands.
    func noteSeen(of profile: UUIDText, at now: Timestamp) throws(ClientStoreError) {
        try self.store.write { database in
            guard let id = try SettingsTable.whisperID(in: database) else { return }
            var seen: [String: Int64] = [:]
            for name in ProfileDocumentName.allCases where name != .user {
                seen[name.rawValue] = try Self.seen(name, of: profile, in: database)?.counter
            }
            let path = ["devices", "\(id)"]
            let register = try self.documents.contents(.user, in: database)[path]
            if let register, register.time + ProfileLimits.seenNotedEvery.milliseconds > now.milliseconds { return }
            var device = register?.value.flatMap { SharedDevice($0) } ?? SharedDevice()
            device.seen = seen
            try self.documents.change(.user, at: now, in: database) { $0.set(path, to: device) }
        }
    }

    /// Counters of one profile's documents say nothing of another profile's.
    func forgetSeen(in database: Database) throws {
        let devices = try self.devices(in: database).filter { $0.device.seen != nil }
        try self.documents.change(.user, at: Timestamp(milliseconds: 0), in: database) { edit in
            for (id, device) in devices {
                var device = device
                device.seen = nil
                edit.set(["devices", id], to: device)
            }
        }
    }

    /// Documents of which another device has seen a later one than this device was shown.
    func behind(
        _ members: [WhisperID], of profile: UUIDText
    ) throws(ClientStoreError) -> Set<ProfileDocumentName> {
        try self.store.read { database in
            let ids = Set(members.map { "\($0)" })
            var behind: Set<ProfileDocumentName> = []
            for (id, device) in try self.devices(in: database) where ids.contains(id) {
                for (name, counter) in device.seen ?? [:] {
                    guard let name = ProfileDocumentName(rawValue: name), name != .user else { continue }
                    if try counter > Self.seen(name, of: profile, in: database)?.counter ?? 0 { behind.insert(name) }
                }
            }
            return behind
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
