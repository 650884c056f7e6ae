package import Contract
import FoundationEssentials
import GRDB

/// What became of keys that were offered for pinning.
package enum Pinning: Equatable, Sendable {
    case pinned(Contact)
    /// Other keys are pinned for this id already. Nothing was changed.
    case changedKeys(Contact)
    /// Another contact has this name. Nothing was changed.
    case nameTaken
}

/// The only code that reads or writes `contacts`.
extension ClientStore {
    package func contact(_ id: WhisperID) throws(ClientStoreError) -> Contact? {
        try self.read { try Self.contact(id, in: $0) }
    }

    /// Known people, by name, strangers last.
    package func contacts() throws(ClientStoreError) -> [Contact] {
        try self.read { try Self.contacts(in: $0) }
    }

    /// Keeps the keys of an id for ever, or finds that they are the ones kept. A name given later is taken over.
    /// The keys must belong to the id: checking is the caller's.
    /// - Parameters:
    ///   - isStranger: they are pinned for their mail alone. Nobody who is known becomes a stranger.
    ///   - isNews: nobody here asked for them: whoever is new is an event.
    package func pin(
        _ keys: PublicKeys, of id: WhisperID, name: String?, isBanned: Bool, isStranger: Bool = false,
        isNews: Bool = false, at now: Timestamp
    ) throws(ClientStoreError) -> Pinning {
        try self.write { database in
            let known = try Self.contact(id, in: database)
            if let known, known.keys != keys { return .changedKeys(known) }
            if let name, let owner = try Self.owner(of: name, in: database), owner != "\(id)" { return .nameTaken }
            try database.execute(
                sql: """
                    INSERT INTO contacts VALUES (?, ?, ?, ?, ?, ?, ?)
                    ON CONFLICT (id) DO UPDATE SET name = coalesce(excluded.name, name),
                        is_banned = excluded.is_banned, is_stranger = is_stranger AND excluded.is_stranger
                    """,
                arguments: [
                    "\(id)", name, Data(keys.sign.bytes), Data(keys.box.bytes), isBanned, now.milliseconds, isStranger,
                ])
            let contact = try Self.contact(id, in: database)!
            let isChanged = contact.name != known?.name || contact.isStranger != known?.isStranger
            if isChanged, !contact.isStranger { try Self.oweBackup(in: database) }
            if isNews, known == nil { try Self.note(.newContact(contact), in: database) }
            return .pinned(contact)
        }
    }

    /// Whoever is answered is no stranger.
    static func accept(_ id: WhisperID, in database: Database) throws {
        try database.execute(
            sql: "UPDATE contacts SET is_stranger = 0 WHERE id = ? AND is_stranger", arguments: ["\(id)"])
        if database.changesCount == 1 { try Self.oweBackup(in: database) }
    }

    /// Takes what the backup says of somebody, where nothing better is known: keys and names from here win, and keys that
    /// do not belong to the id are none.
    /// - Returns: the contact, if there was none.
    static func restore(_ entry: ContactList.Entry, of id: WhisperID, in database: Database) throws -> Contact? {
        var name = entry.name
        if let wanted = name, try Self.owner(of: wanted, in: database) != nil { name = nil }
        if let known = try Self.contact(id, in: database) {
            try database.execute(
                sql: "UPDATE contacts SET name = ?, is_stranger = 0 WHERE id = ?",
                arguments: [known.name ?? name, "\(id)"])
            return nil
        }
        guard let keys = entry.keys else { return nil }
        try database.execute(
            sql: "INSERT INTO contacts VALUES (?, ?, ?, ?, ?, ?, ?)",
            arguments: ["\(id)", name, Data(keys.sign.bytes), Data(keys.box.bytes), false, entry.addedAt, false])
        let contact = try Self.contact(id, in: database)
        if let contact { try Self.note(.newContact(contact), in: database) }
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
        guard let id = WhisperID(row["id"] as String), let sign = Bytes32(row["sign_key"] as Data),
            let box = Bytes32(row["box_key"] as Data)
        else { return nil }
        return Contact(
            id: id, name: row["name"], keys: PublicKeys(sign: sign, box: box), isBanned: row["is_banned"],
            addedAt: Timestamp(milliseconds: row["added_at"]), isStranger: row["is_stranger"])
    }
}
