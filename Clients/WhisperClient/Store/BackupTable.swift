package import Contract
import FoundationEssentials
import SQLite

/// The only code that reads or writes `backup_entries`: what the backup said of each contact when it was read last. It is
/// kept beside the contacts, so that what other clients write there (notes, marks) and people whose keys could not be had
/// yet are in the next backup too.
extension ClientStore {
    /// The list as it should stand in the backup, and how many changes it has that the backup has not.
    package func contactList(at now: Timestamp) throws(ClientStoreError) -> (list: ContactList, changes: Int) {
        try self.read { database -> (list: ContactList, changes: Int) in
            var entries = try Self.entries(in: database)
            for contact in try ContactTable.contacts(in: database) where !contact.isStranger {
                let id = "\(contact.id)"
                entries[id] = ContactList.Entry(contact, over: entries[id])
            }
            var list = ContactList(
                exportedAt: now.milliseconds, contacts: entries.values.sorted { $0.whisperId < $1.whisperId })
            let removals = try ContactTable.removals(in: database).map {
                ContactList.Removal(whisperId: "\($0)", removedAt: $1)
            }
            if !removals.isEmpty { list.removed = removals.sorted { $0.whisperId < $1.whisperId } }
            return (list: list, changes: try SettingsTable.backupChanges(in: database))
        }
    }

    /// Takes in what the backup holds: afterwards the contacts here are the union of both, less who was removed later than
    /// added. Names from here have won, and so have marks that were changed here since the backup was seen last.
    /// - Parameters:
    ///   - tag: the backup's `ETag`.
    ///   - ownID: nobody is among their own contacts.
    /// - Returns: who was not here before.
    package func merge(
        _ list: ContactList, tag: String, ownID: WhisperID?
    ) throws(ClientStoreError) -> [Contact] {
        try self.write { database -> [Contact] in
            var added: [Contact] = []
            for removal in list.removed ?? [] {
                guard let id = WhisperID(removal.whisperId), removal.removedAt < .max else { continue }
                _ = try ContactTable.restore(removalOf: id, at: removal.removedAt, in: database)
            }
            let removals = try ContactTable.removals(in: database)
            for entry in list.contacts {
                guard let id = WhisperID(entry.whisperId), id != ownID else { continue }
                if let removedAt = removals[id], removedAt >= entry.addedAt {
                    // The backup is to forget them too.
                    try Self.dropEntry(of: id, in: database)
                    try SettingsTable.oweBackup(in: database)
                    continue
                }
                let base = try Self.entry(of: id, in: database)
                try Self.keep(entry, of: id, in: database)
                if let contact = try ContactTable.restore(entry, over: base, of: id, in: database) {
                    added.append(contact)
                }
            }
            try SettingsTable.set(backupTag: tag, in: database)
            return added
        }
    }

    /// Contacts in the backup that are not here, because the backup lacks their keys.
    package func missingContacts() throws(ClientStoreError) -> [ContactList.Entry] {
        try self.read { database -> [ContactList.Entry] in
            var entries = try Self.entries(in: database)
            for contact in try ContactTable.contacts(in: database) { entries["\(contact.id)"] = nil }
            return entries.values.sorted { $0.whisperId < $1.whisperId }
        }
    }

    static func entry(of id: WhisperID, in database: Database) throws -> ContactList.Entry? {
        try String.fetchOne(database, sql: "SELECT entry FROM backup_entries WHERE id = ?", arguments: ["\(id)"])
            .map { try JSONDecoder().decode(ContactList.Entry.self, from: Data($0.utf8)) }
    }

    static func keep(_ entry: ContactList.Entry, of id: WhisperID, in database: Database) throws {
        try database.run(
            sql: "INSERT INTO backup_entries VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET entry = excluded.entry",
            arguments: ["\(id)", String(decoding: try JSONEncoder().encode(entry), as: UTF8.self)])
    }

    static func dropEntry(of id: WhisperID, in database: Database) throws {
        try database.run(sql: "DELETE FROM backup_entries WHERE id = ?", arguments: ["\(id)"])
    }

    private static func entries(in database: Database) throws -> [String: ContactList.Entry] {
        var entries: [String: ContactList.Entry] = [:]
        for text in try String.fetchAll(database, sql: "SELECT entry FROM backup_entries") {
            let entry = try JSONDecoder().decode(ContactList.Entry.self, from: Data(text.utf8))
            entries[entry.whisperId] = entry
        }
        return entries
    }
}
