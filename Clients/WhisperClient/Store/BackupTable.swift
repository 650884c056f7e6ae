package import Contract
import FoundationEssentials
import GRDB

/// The only code that reads or writes `backup_entries`: what the backup said of each contact when it was read last. It is
/// kept beside the contacts, so that what other clients write there (notes, marks) and people whose keys could not be had
/// yet are in the next backup too.
extension ClientStore {
    /// The list as it should stand in the backup, and how many changes it has that the backup has not.
    package func contactList(at now: Timestamp) throws(ClientStoreError) -> (list: ContactList, changes: Int) {
        try self.read { database -> (list: ContactList, changes: Int) in
            var entries = try Self.entries(in: database)
            for contact in try Self.contacts(in: database) where !contact.isStranger {
                let id = "\(contact.id)"
                entries[id] = ContactList.Entry(contact, over: entries[id])
            }
            let list = ContactList(
                exportedAt: now.milliseconds, contacts: entries.values.sorted { $0.whisperId < $1.whisperId })
            return (list: list, changes: try Self.backupChanges(in: database))
        }
    }

    /// Takes in what the backup holds: afterwards the contacts here are the union of both, and names from here have won.
    /// - Parameters:
    ///   - tag: the backup's `ETag`.
    ///   - ownID: nobody is among their own contacts.
    /// - Returns: who was not here before.
    package func merge(
        _ list: ContactList, tag: String, ownID: WhisperID?
    ) throws(ClientStoreError) -> [Contact] {
        try self.write { database -> [Contact] in
            var added: [Contact] = []
            for entry in list.contacts {
                guard let id = WhisperID(entry.whisperId), id != ownID else { continue }
                try database.execute(
                    sql:
                        "INSERT INTO backup_entries VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET entry = excluded.entry",
                    arguments: ["\(id)", String(decoding: try JSONEncoder().encode(entry), as: UTF8.self)])
                if let contact = try Self.restore(entry, of: id, in: database) { added.append(contact) }
            }
            try Self.set(backupTag: tag, in: database)
            return added
        }
    }

    /// Who is in the backup, but not here, because the backup has no keys of theirs.
    package func missingContacts() throws(ClientStoreError) -> [ContactList.Entry] {
        try self.read { database -> [ContactList.Entry] in
            var entries = try Self.entries(in: database)
            for contact in try Self.contacts(in: database) { entries["\(contact.id)"] = nil }
            return entries.values.sorted { $0.whisperId < $1.whisperId }
        }
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
