package import Contract
import FoundationEssentials
import SQLite

/// A session as it is kept between runs.
package struct StoredSession: Sendable, Equatable {
    package var token: String
    /// By the server's clock.
    package var expiresAt: Timestamp
    /// The identity's class of rates, as the server has said with the token. `nil`: its rates are everybody's.
    package var rateClass: String?

    package init(token: String, expiresAt: Timestamp, rateClass: String? = nil) {
        self.token = token
        self.expiresAt = expiresAt
        self.rateClass = rateClass
    }
}

/// The only code that reads or writes `settings`, with `Preferences.swift` and `PushTokens.swift` beside it.
package struct SettingsTable: Sendable {
    let store: ClientStore

    package func server() throws(ClientStoreError) -> ServerAddress? {
        try self.setting("server").flatMap { ServerAddress($0) }
    }

    package func set(server: ServerAddress) throws(ClientStoreError) { try self.set("server", to: "\(server)") }

    /// PEM file with certificates trusted beside those of the system: an absolute path.
    package func authorityFile() throws(ClientStoreError) -> String? { try self.setting("authorityFile") }

    /// Keeps a relative path as an absolute one: later programs run in other folders.
    package func set(authorityFile: String?) throws(ClientStoreError) {
        let here = FileManager.default.currentDirectoryPath
        try self.set("authorityFile", to: authorityFile.map { $0.hasPrefix("/") ? $0 : here + "/" + $0 })
    }

    package func whisperID() throws(ClientStoreError) -> WhisperID? {
        try self.setting("whisperId").flatMap { WhisperID($0) }
    }

    static func whisperID(in database: Database) throws -> WhisperID? {
        try Self.setting("whisperId", in: database).flatMap { WhisperID($0) }
    }

    /// Keeps who we are and the session that says so, together.
    package func set(whisperID: WhisperID, session: StoredSession) throws(ClientStoreError) {
        try self.store.write { database in
            try Self.set("whisperId", to: "\(whisperID)", in: database)
            try Self.set("invitation", to: nil, in: database)
            try Self.set(session, in: database)
            try ClientStore.oweTokens(in: database)
        }
    }

    /// For the first login. The server's answer to it ends the invitation here.
    func invitation() throws(ClientStoreError) -> InvitationToken? {
        try self.setting("invitation").flatMap { InvitationToken($0) }
    }

    package func set(invitation: InvitationToken) throws(ClientStoreError) {
        try self.set("invitation", to: invitation.text)
    }

    package func session() throws(ClientStoreError) -> StoredSession? {
        guard let token = try self.setting("sessionToken"),
            let expiresAt = try self.setting("sessionExpiresAt").flatMap({ Int64($0) })
        else { return nil }
        return StoredSession(
            token: token, expiresAt: Timestamp(milliseconds: expiresAt), rateClass: try self.setting("rateClass"))
    }

    package func set(session: StoredSession?) throws(ClientStoreError) {
        try self.store.write { try Self.set(session, in: $0) }
    }

    /// The id of this installation: the host's, or a UUIDv4 drawn the first time it is asked for. With another one than before the
    /// session is over, because the server learns of a device by a login alone.
    package func deviceID(_ given: UUIDText? = nil) throws(ClientStoreError) -> UUIDText {
        try self.store.write { database in
            let text = try String.fetchOne(database, sql: "SELECT value FROM settings WHERE name = 'deviceId'")
            let kept = text.flatMap { UUIDText($0) }
            if let kept, given == nil || given == kept { return kept }
            if kept != nil { try Self.set(nil as StoredSession?, in: database) }
            let id = given ?? .random()
            try Self.set("deviceId", to: "\(id)", in: database)
            return id
        }
    }

    /// Makes the store another device's: it logs in anew.
    func forgetDevice() throws(ClientStoreError) {
        try self.store.write { database in
            try Self.set(nil as StoredSession?, in: database)
            try Self.set("deviceId", to: nil, in: database)
            try ClientStore.forgetTokens(in: database)
        }
    }

    /// The latest time that the server has told, as far as it was kept.
    func serverTime() throws(ClientStoreError) -> Timestamp? {
        try self.setting("serverTime").flatMap { Int64($0) }.map { Timestamp(milliseconds: $0) }
    }

    func set(serverTime: Timestamp) throws(ClientStoreError) {
        try self.set("serverTime", to: "\(serverTime.milliseconds)")
    }

    // MARK: Keys

    /// The keys of a sealed profile, which has no phrase; `nil` if they are missing.
    func identityKeys() throws(ClientStoreError) -> IdentityKeys? {
        try self.setting("identityKeys").flatMap { Data(base64Encoded: $0) }.flatMap {
            IdentityKeys(stored: [UInt8]($0))
        }
    }

    /// Only for a store that is sealed.
    func set(identityKeys: IdentityKeys) throws(ClientStoreError) {
        try self.set("identityKeys", to: Data(identityKeys.stored.bytes).base64EncodedString())
    }

    /// Whether the words alone would bring back another identity.
    package func hasPassphrase() throws(ClientStoreError) -> Bool { try self.setting("hasPassphrase") != nil }

    func setHasPassphrase() throws(ClientStoreError) { try self.set("hasPassphrase", to: "yes") }

    // MARK: Backup

    /// The `ETag` of the backup that was read or written last; `nil` if it must be read before it may be written.
    package func backupTag() throws(ClientStoreError) -> String? { try self.setting("backupTag") }

    package func set(backupTag: String?) throws(ClientStoreError) { try self.set("backupTag", to: backupTag) }

    static func set(backupTag: String?, in database: Database) throws {
        try Self.set("backupTag", to: backupTag, in: database)
    }

    /// Changes of the contact list that are not in the backup.
    package func backupChanges() throws(ClientStoreError) -> Int {
        try self.store.read { try Self.backupChanges(in: $0) }
    }

    static func backupChanges(in database: Database) throws -> Int {
        try Self.setting("backupChanges", in: database).flatMap { Int($0) } ?? 0
    }

    /// The list is to be written though it has not changed.
    func oweBackup() throws(ClientStoreError) { try self.store.write { try Self.oweBackup(in: $0) } }

    /// To be called in the transaction that changes the contact list.
    static func oweBackup(in database: Database) throws {
        let changes = try Self.backupChanges(in: database) + 1
        try Self.set("backupChanges", to: "\(changes)", in: database)
    }

    /// The server has the list with these changes. Changes made meanwhile are still owed.
    /// - Parameter list: what was written: later changes on other devices are told by it.
    package func backedUp(_ changes: Int, as tag: String?, _ list: ContactList? = nil) throws(ClientStoreError) {
        try self.store.write { database in
            for entry in list?.contacts ?? [] {
                // A contact that was removed meanwhile has no entry any more.
                guard let id = WhisperID(entry.whisperId), try ContactTable.contact(id, in: database) != nil else {
                    continue
                }
                try ClientStore.keep(entry, of: id, in: database)
            }
            try Self.set(backupTag: tag, in: database)
            if try Self.backupChanges(in: database) == changes { try Self.set("backupChanges", to: nil, in: database) }
        }
    }

    // MARK: Ban

    /// The server has banned this identity, as it was told last.
    package func ban() throws(ClientStoreError) -> Ban? {
        try self.setting("ban").map { Ban(until: Int64($0).map { Timestamp(milliseconds: $0) }) }
    }

    /// Keeps a ban, and what waits to be sent apart: only the person here lets it go.
    package func begin(_ ban: Ban) throws(ClientStoreError) {
        try self.store.write { database in
            try Self.set("ban", to: ban.until.map { "\($0.milliseconds)" } ?? "for ever", in: database)
            try Self.set("outboxPaused", to: "yes", in: database)
        }
    }

    func endBan() throws(ClientStoreError) { if try self.ban() != nil { try self.set("ban", to: nil) } }

    package func isOutboxPaused() throws(ClientStoreError) -> Bool { try self.setting("outboxPaused") != nil }

    func resumeOutbox() throws(ClientStoreError) { try self.set("outboxPaused", to: nil) }

    // MARK: Events

    /// The newest event that was dropped before every consumer had acknowledged it; 0 if there is none.
    static func eventsDropped(in database: Database) throws -> Int64 {
        try Self.setting("eventsDropped", in: database).flatMap { Int64($0) } ?? 0
    }

    static func set(eventsDropped: Int64, in database: Database) throws {
        try Self.set("eventsDropped", to: "\(eventsDropped)", in: database)
    }

    // MARK: Live conversations

    /// Sealed, in base64 (`LiveStore`).
    func liveProfile() throws(ClientStoreError) -> String? { try self.setting("liveProfile") }

    // MARK: Rows

    private func setting(_ name: String) throws(ClientStoreError) -> String? {
        try self.store.read { try Self.setting(name, in: $0) }
    }

    static func setting(_ name: String, in database: Database) throws -> String? {
        try String.fetchOne(database, sql: "SELECT value FROM settings WHERE name = ?", arguments: [name])
    }

    private func set(_ name: String, to value: String?) throws(ClientStoreError) {
        try self.store.write { try Self.set(name, to: value, in: $0) }
    }

    private static func set(_ session: StoredSession?, in database: Database) throws {
        try Self.set("sessionToken", to: session?.token, in: database)
        try Self.set("sessionExpiresAt", to: session.map { "\($0.expiresAt.milliseconds)" }, in: database)
        try Self.set("rateClass", to: session?.rateClass, in: database)
    }

    static func set(_ name: String, to value: String?, in database: Database) throws {
        guard let value else {
            return try database.run(sql: "DELETE FROM settings WHERE name = ?", arguments: [name])
        }
        try database.run(
            sql: "INSERT INTO settings VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            arguments: [name, value])
    }
}
