package import Contract
import FoundationEssentials
import SQLite

/// Result of offering keys for pinning.
package enum Pinning: Equatable, Sendable {
    case pinned(Contact)
    /// Other keys are pinned for this id already. Nothing was changed.
    case changedKeys(Contact)
    /// Another contact has this name. Nothing was changed.
    case nameTaken
}

/// A change of a contact. `nil` leaves a field as it is, an empty text removes it.
package struct ContactUpdate: Sendable {
    package var name: String?
    package var notes: String?
    package var isPinned: Bool?
    package var isMuted: Bool?

    package init(name: String? = nil, notes: String? = nil, isPinned: Bool? = nil, isMuted: Bool? = nil) {
        self.name = name
        self.notes = notes
        self.isPinned = isPinned
        self.isMuted = isMuted
    }
}

package enum ContactChange: Equatable, Sendable {
    case changed(Contact)
    case same(Contact)
    /// There is no such contact. A stranger is none.
    case unknown
    /// Another contact has this name.
    case nameTaken
}

/// The only code that writes `contacts` and `removed_contacts`.
///
/// Removals are remembered with their time: a backup entry from before that time does not bring the contact back.
package struct ContactTable: Sendable {
    let store: ClientStore

    static func migrateMarks(_ database: Database) throws {
        try database.execute(
            sql: """
                ALTER TABLE contacts ADD COLUMN notes TEXT;
                ALTER TABLE contacts ADD COLUMN is_pinned INTEGER NOT NULL DEFAULT 0;
                ALTER TABLE contacts ADD COLUMN is_muted INTEGER NOT NULL DEFAULT 0;
                ALTER TABLE contacts ADD COLUMN is_blocked INTEGER NOT NULL DEFAULT 0;
                CREATE TABLE removed_contacts (id TEXT PRIMARY KEY, removed_at INTEGER NOT NULL) WITHOUT ROWID;
                """)
        // Marks that other clients have written to the backup apply here from now on.
        for contact in try Self.contacts(in: database) {
            guard let entry = try ClientStore.entry(of: contact.id, in: database) else { continue }
            try Self.takeMarks(of: entry, over: nil, to: contact.id, in: database)
        }
    }

    static func migrateVerified(_ database: Database) throws {
        try database.execute(sql: "ALTER TABLE contacts ADD COLUMN is_verified INTEGER NOT NULL DEFAULT 0")
    }

    /// `is_verified` stays what releases before this column read.
    static func migrateVerification(_ database: Database) throws {
        try database.execute(sql: "ALTER TABLE contacts ADD COLUMN verification TEXT")
        try database.run(
            sql: "UPDATE contacts SET verification = ? WHERE is_verified", arguments: [Verification.compared.rawValue])
    }

    static let undoVerification = StepDown(
        migration: "verification", sql: "ALTER TABLE contacts DROP COLUMN verification")

    static func migrateGone(_ database: Database) throws {
        try database.execute(sql: "ALTER TABLE contacts ADD COLUMN is_gone INTEGER NOT NULL DEFAULT 0")
    }

    static let undoGone = StepDown(migration: "gone contacts", sql: "ALTER TABLE contacts DROP COLUMN is_gone")

    package func contact(_ id: WhisperID) throws(ClientStoreError) -> Contact? {
        try self.store.read { try Self.contact(id, in: $0) }
    }

    /// - Throws: why we may not write to them.
    func writable(_ id: WhisperID) throws(SendError) -> Contact {
        let contact: Contact?
        do { contact = try self.contact(id) } catch { throw .store(error) }
        guard let contact else { throw .unknownContact }
        guard !contact.isBanned else { throw .bannedContact }
        guard !contact.isBlocked else { throw .blockedContact }
        return contact
    }

    /// Known people, by name, strangers last.
    package func contacts() throws(ClientStoreError) -> [Contact] {
        try self.store.read { try Self.contacts(in: $0) }
    }

    /// Contact requests by id: senders who were neither added nor answered. Group members without a direct message are
    /// excluded.
    package func strangers(after id: WhisperID?, limit: Int) throws(ClientStoreError) -> [Contact] {
        try self.store.read { database in
            let sql = """
                SELECT * FROM contacts WHERE is_stranger AND id > ? AND (
                    EXISTS (SELECT 1 FROM messages WHERE peer = contacts.id AND group_id IS NULL)
                    OR NOT EXISTS (SELECT 1 FROM messages WHERE peer = contacts.id AND group_id IS NOT NULL)
                    AND NOT EXISTS (SELECT 1 FROM group_members WHERE member = contacts.id)
                    AND NOT EXISTS (SELECT 1 FROM group_deliveries WHERE member = contacts.id))
                ORDER BY id LIMIT ?
                """
            return try Row.fetchAll(database, sql: sql, arguments: [id.map { "\($0)" } ?? "", limit])
                .compactMap(Self.contact)
        }
    }

    /// Keeps the keys of an id for ever, or finds that they are the ones kept. A name given later is taken over.
    /// The keys must belong to the id: checking is the caller's.
    /// - Parameters:
    ///   - isStranger: they are pinned for their mail alone. Nobody who is known becomes a stranger.
    ///   - isGone: as far as anybody knows; a server that gives the keys knows the person.
    ///   - isNews: nobody here asked for them: whoever is new is an event.
    package func pin(
        _ keys: PublicKeys, of id: WhisperID, name: String?, isBanned: Bool, isGone: Bool = false,
        isStranger: Bool = false,
        isNews: Bool = false, at now: Timestamp
    ) throws(ClientStoreError) -> Pinning {
        try self.store.write { database in
            let known = try Self.contact(id, in: database)
            if let known, known.keys != keys { return .changedKeys(known) }
            if let name, let owner = try Self.owner(of: name, in: database), owner != "\(id)" { return .nameTaken }
            try database.run(
                sql: """
                    INSERT INTO contacts (id, name, sign_key, box_key, is_banned, added_at, is_stranger, is_gone)
                    VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                    ON CONFLICT (id) DO UPDATE SET name = coalesce(excluded.name, name),
                        is_banned = excluded.is_banned, is_gone = excluded.is_gone, is_stranger = is_stranger AND excluded.is_stranger
                    """,
                arguments: [
                    "\(id)", name, Array(keys.sign.bytes), Array(keys.box.bytes), isBanned, now.milliseconds,
                    isStranger, isGone,
                ])
            if !isStranger { try Self.forgetRemoval(of: id, in: database) }
            if known == nil, let entry = try ClientStore.entry(of: id, in: database) {
                try Self.takeMarks(of: entry, over: nil, to: id, in: database)
            }
            let contact = try Self.contact(id, in: database)!
            let isChanged = contact.name != known?.name || contact.isStranger != known?.isStranger
            if isChanged, !contact.isStranger { try SettingsTable.oweBackup(in: database) }
            if known?.isStranger == true, !contact.isStranger { try MessageTable.oweReadMarks(to: id, in: database) }
            if isNews, known == nil {
                try EventTable.note(isStranger ? .request(contact) : .contact(contact), in: database)
            }
            return .pinned(contact)
        }
    }

    /// The server does not know them any more, or they have written again.
    /// - Returns: `nil` if that is no news, or there is no such contact.
    package func set(_ id: WhisperID, isGone: Bool) throws(ClientStoreError) -> Contact? {
        try self.store.write { database -> Contact? in
            try database.run(
                sql: "UPDATE contacts SET is_gone = ? WHERE id = ? AND is_gone <> ?",
                arguments: [isGone, "\(id)", isGone])
            guard database.changesCount == 1, let contact = try Self.contact(id, in: database) else { return nil }
            try EventTable.note(.contact(contact), in: database)
            return contact
        }
    }

    /// A stranger who is answered becomes a contact.
    static func accept(_ id: WhisperID, in database: Database) throws {
        try database.run(
            sql: "UPDATE contacts SET is_stranger = 0 WHERE id = ? AND is_stranger", arguments: ["\(id)"])
        guard database.changesCount == 1 else { return }
        try MessageTable.oweReadMarks(to: id, in: database)
        try Self.forgetRemoval(of: id, in: database)
        try SettingsTable.oweBackup(in: database)
    }

    // MARK: At the wish of the person here

    package func update(_ id: WhisperID, _ update: ContactUpdate) throws(ClientStoreError) -> ContactChange {
        try self.change(id) { contact, database in
            if let name = update.name {
                contact.name = name.isEmpty ? nil : name
                if !name.isEmpty, let owner = try Self.owner(of: name, in: database), owner != "\(id)" { return false }
            }
            if let notes = update.notes { contact.notes = notes.isEmpty ? nil : notes }
            contact.isPinned = update.isPinned ?? contact.isPinned
            contact.isMuted = update.isMuted ?? contact.isMuted
            return true
        }
    }

    /// Blocking a stranger makes a contact of it: the block is kept, in the backup too.
    package func set(isBlocked: Bool, _ id: WhisperID) throws(ClientStoreError) -> ContactChange {
        try self.change(id, includingStrangers: isBlocked) { contact, _ in
            contact.isBlocked = isBlocked
            return true
        }
    }

    /// The keys were compared, or are not trusted any more. It stays on this device: nothing goes into the backup.
    /// A link that is not scanned takes nothing from what was verified.
    /// - Parameter verification: `nil`: the keys are not trusted.
    package func set(_ verification: Verification?, _ id: WhisperID) throws(ClientStoreError) -> ContactChange {
        try self.store.write { database -> ContactChange in
            guard let known = try Self.contact(id, in: database) else { return .unknown }
            guard known.verification != verification, verification != .linked || !known.isVerified else {
                return .same(known)
            }
            try database.run(
                sql: "UPDATE contacts SET verification = ?, is_verified = ? WHERE id = ?",
                arguments: [verification?.rawValue, verification != nil && verification != .linked, "\(id)"])
            let changed = try Self.contact(id, in: database)!
            try EventTable.note(.contact(changed), in: database)
            return .changed(changed)
        }
    }

    /// A stranger's request is taken.
    package func acceptRequest(of id: WhisperID) throws(ClientStoreError) -> ContactChange {
        try self.store.write { database -> ContactChange in
            guard try Self.contact(id, in: database)?.isStranger == true else { return .unknown }
            try Self.accept(id, in: database)
            let contact = try Self.contact(id, in: database)!
            try EventTable.note(.contact(contact), in: database)
            return .changed(contact)
        }
    }

    /// Forgets a stranger with all mail. More mail would be another request.
    /// - Returns: whether there was such a request.
    package func rejectRequest(of id: WhisperID) throws(ClientStoreError) -> Bool {
        try self.store.write { database -> Bool in
            guard try Self.contact(id, in: database)?.isStranger == true else { return false }
            while try ClientStore.clear(.direct(id), upTo: .max, in: database) > 0 {}
            try Self.drop(id, in: database)
            return true
        }
    }

    /// Removes a contact. Messages stay, but whoever writes again is a stranger.
    /// - Returns: whether there was such a contact.
    package func remove(_ id: WhisperID, at now: Timestamp) throws(ClientStoreError) -> Bool {
        try self.store.write { database -> Bool in
            guard let contact = try Self.contact(id, in: database), !contact.isStranger else { return false }
            try Self.drop(id, in: database)
            // A clock that was set back must not make the removal older than the contact.
            try Self.remember(removalOf: id, at: max(now, contact.addedAt).milliseconds, in: database)
            try SettingsTable.oweBackup(in: database)
            return true
        }
    }

    private func change(
        _ id: WhisperID, includingStrangers: Bool = false, _ body: (inout Contact, Database) throws -> Bool
    ) throws(ClientStoreError) -> ContactChange {
        try self.store.write { database -> ContactChange in
            guard let known = try Self.contact(id, in: database), includingStrangers || !known.isStranger else {
                return .unknown
            }
            var contact = known
            contact.isStranger = false
            guard try body(&contact, database) else { return .nameTaken }
            guard contact != known else { return .same(known) }
            try database.run(
                sql: """
                    UPDATE contacts SET name = ?, notes = ?, is_pinned = ?, is_muted = ?, is_blocked = ?, is_stranger = 0
                    WHERE id = ?
                    """,
                arguments: [
                    contact.name, contact.notes, contact.isPinned, contact.isMuted, contact.isBlocked, "\(id)",
                ])
            if contact.isBlocked { try MessageTable.forgetOwedReadMarks(to: id, in: database) }
            try Self.forgetRemoval(of: id, in: database)
            try SettingsTable.oweBackup(in: database)
            let changed = try Self.contact(id, in: database)!
            try EventTable.note(.contact(changed), in: database)
            return .changed(changed)
        }
    }

    /// The contact's row, draft, entry in the backup, and events.
    private static func drop(_ id: WhisperID, in database: Database) throws {
        try database.run(sql: "DELETE FROM contacts WHERE id = ?", arguments: ["\(id)"])
        try ClientStore.dropDraft(in: .direct(id), in: database)
        try DisappearingTable.dropTimer(of: .direct(id), in: database)
        try ClientStore.dropEntry(of: id, in: database)
        try EventTable.dropContactEvents(of: id, in: database)
    }

    // MARK: Removals

    /// Milliseconds.
    package func removals() throws(ClientStoreError) -> [WhisperID: Int64] {
        try self.store.read { try Self.removals(in: $0) }
    }

    static func removals(in database: Database) throws -> [WhisperID: Int64] {
        try Row.fetchAll(database, sql: "SELECT id, removed_at FROM removed_contacts").reduce(into: [:]) {
            if let id = WhisperID($1["id"] as String) { $0[id] = $1["removed_at"] }
        }
    }

    /// Takes a removal on another device.
    /// - Returns: whether a contact here is gone by it.
    static func restore(removalOf id: WhisperID, at time: Int64, in database: Database) throws -> Bool {
        let contact = try Self.contact(id, in: database)
        // Somebody who was added later, or only wrote, was not meant.
        if let contact, !contact.isStranger, contact.addedAt.milliseconds > time { return false }
        let isGone = contact.map { !$0.isStranger } ?? false
        if isGone { try Self.drop(id, in: database) }
        try Self.remember(removalOf: id, at: time, in: database)
        return isGone
    }

    private static func remember(removalOf id: WhisperID, at time: Int64, in database: Database) throws {
        try database.run(
            sql: """
                INSERT INTO removed_contacts VALUES (?, ?)
                ON CONFLICT (id) DO UPDATE SET removed_at = max(removed_at, excluded.removed_at)
                """, arguments: ["\(id)", time])
        try database.run(
            sql: """
                DELETE FROM removed_contacts WHERE id IN (
                    SELECT id FROM removed_contacts ORDER BY removed_at DESC, id LIMIT -1 OFFSET ?)
                """, arguments: [ClientLimits.removedContactsMax])
    }

    /// Somebody is a contact again, from a time behind the removal on.
    private static func forgetRemoval(of id: WhisperID, in database: Database) throws {
        let removedAt = try Int64.fetchOne(
            database, sql: "SELECT removed_at FROM removed_contacts WHERE id = ?", arguments: ["\(id)"])
        guard let removedAt else { return }
        try database.run(
            sql: "UPDATE contacts SET added_at = max(added_at, ?) WHERE id = ?", arguments: [removedAt + 1, "\(id)"])
        try database.run(sql: "DELETE FROM removed_contacts WHERE id = ?", arguments: ["\(id)"])
    }

    // MARK: Backup

    /// Takes marks that the backup has and that were not changed here since.
    /// - Parameter base: what the backup said before; `nil` if nothing is known of that: then what is set here stays.
    static func takeMarks(
        of entry: ContactList.Entry, over base: ContactList.Entry?, to id: WhisperID, in database: Database
    ) throws {
        guard let contact = try Self.contact(id, in: database) else { return }
        func merged<Value: Equatable>(_ here: Value, _ before: Value, _ there: Value) -> Value {
            here == before ? there : here
        }
        let notes = merged(contact.notes, base?.notes, entry.notes)
        func mark(_ here: Bool, _ path: KeyPath<ContactList.Entry, Bool?>) -> Bool {
            merged(here, base?[keyPath: path] ?? false, entry[keyPath: path] ?? false)
        }
        try database.run(
            sql: "UPDATE contacts SET notes = ?, is_pinned = ?, is_muted = ?, is_blocked = ? WHERE id = ?",
            arguments: [
                notes, mark(contact.isPinned, \.isPinned), mark(contact.isMuted, \.isMuted),
                mark(contact.isBlocked, \.isBlocked), "\(id)",
            ])
    }

    /// Takes what the backup says of somebody, where nothing better is known: keys and names from here win, and keys that
    /// do not belong to the id are none.
    /// - Parameter base: what the backup said of them before.
    /// - Returns: the contact, if there was none.
    static func restore(
        _ entry: ContactList.Entry, over base: ContactList.Entry?, of id: WhisperID, in database: Database
    ) throws -> Contact? {
        var name = entry.name
        if let wanted = name, try Self.owner(of: wanted, in: database) != nil { name = nil }
        if let known = try Self.contact(id, in: database) {
            try database.run(
                sql: "UPDATE contacts SET name = ?, is_stranger = 0 WHERE id = ?",
                arguments: [known.name ?? name, "\(id)"])
            if known.isStranger { try MessageTable.oweReadMarks(to: id, in: database) }
            try Self.forgetRemoval(of: id, in: database)
            try Self.takeMarks(of: entry, over: base, to: id, in: database)
            return nil
        }
        guard let keys = entry.keys else { return nil }
        try database.run(
            sql: """
                INSERT INTO contacts (id, name, sign_key, box_key, is_banned, added_at, is_stranger)
                VALUES (?, ?, ?, ?, ?, ?, ?)
                """,
            arguments: ["\(id)", name, Array(keys.sign.bytes), Array(keys.box.bytes), false, entry.addedAt, false])
        try Self.forgetRemoval(of: id, in: database)
        try Self.takeMarks(of: entry, over: nil, to: id, in: database)
        let contact = try Self.contact(id, in: database)
        if let contact { try EventTable.note(.contact(contact), in: database) }
        return contact
    }

    static func contacts(in database: Database) throws -> [Contact] {
        try Row.fetchAll(database, sql: "SELECT * FROM contacts ORDER BY name IS NULL, name, id").compactMap(
            Self.contact)
    }

    private static func owner(of name: String, in database: Database) throws -> String? {
        try String.fetchOne(database, sql: "SELECT id FROM contacts WHERE name = ?", arguments: [name])
    }

    static func contact(_ id: WhisperID, in database: Database) throws -> Contact? {
        try Row.fetchOne(database, sql: "SELECT * FROM contacts WHERE id = ?", arguments: ["\(id)"])
            .flatMap(Self.contact)
    }

    private static func contact(_ row: Row) -> Contact? {
        guard let id = WhisperID(row["id"] as String), let sign = Bytes32(row["sign_key"] as [UInt8]),
            let box = Bytes32(row["box_key"] as [UInt8])
        else { return nil }
        return Contact(
            id: id, name: row["name"], keys: PublicKeys(sign: sign, box: box), isBanned: row["is_banned"],
            addedAt: Timestamp(milliseconds: row["added_at"]), isStranger: row["is_stranger"], notes: row["notes"],
            isPinned: row["is_pinned"], isMuted: row["is_muted"], isBlocked: row["is_blocked"],
            verification: (row["verification"] as String?).flatMap { Verification(rawValue: $0) },
            isGone: row["is_gone"])
    }
}
