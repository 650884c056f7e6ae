import Contract
import FoundationEssentials
import SQLite

/// The only code that reads or writes rooms in the store: the secrets of their links, so that a returning participant
/// has the same keys. They are sealed: the file alone does not disclose them.
struct RoomStore: Sendable {
    private let store: ClientStore
    private let seal: StoreSeal

    init(_ store: ClientStore, keys: IdentityKeys) {
        self.store = store
        self.seal = StoreSeal(key: keys.storeKey)
    }

    static func migrate(_ database: Database) throws {
        try database.execute(
            sql: "CREATE TABLE rooms (id TEXT PRIMARY KEY, secret BLOB NOT NULL) WITHOUT ROWID")
    }

    /// - Returns: `nil` if the room has no link, or this store does not have its secret.
    func secret(of room: UUIDText) throws(ClientStoreError) -> RoomSecret? {
        try self.store.read { database in
            try Row.fetchOne(database, sql: "SELECT secret FROM rooms WHERE id = ?", arguments: ["\(room)"]).flatMap {
                self.seal.open($0["secret"] as [UInt8], place: Self.place(room))
            }
        }.flatMap { $0.count == RoomLimits.linkSecretBytes ? RoomSecret(SecretBytes($0)) : nil }
    }

    func set(_ secret: RoomSecret, of room: UUIDText) throws(ClientStoreError) {
        let sealed = self.seal.seal(secret.secret.bytes, place: Self.place(room))
        try self.store.write { database in
            try database.run(
                sql: "INSERT OR REPLACE INTO rooms VALUES (?, ?)", arguments: ["\(room)", sealed])
        }
    }

    func forget(_ room: UUIDText) throws(ClientStoreError) {
        try self.store.write { database in
            try database.run(sql: "DELETE FROM rooms WHERE id = ?", arguments: ["\(room)"])
        }
    }

    private static func place(_ room: UUIDText) -> String { "room \(room)" }
}
