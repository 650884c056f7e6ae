import Contract
import SQLite

extension MessageTable {
    /// The oldest read marks that one sender may not have received.
    func owedReceipts(to peer: WhisperID, limit: Int) throws(ClientStoreError) -> [OwedReceipt] {
        try self.store.read { database in
            let sql = "SELECT id FROM messages WHERE owes_read AND peer = ? ORDER BY number LIMIT ?"
            return try String.fetchAll(database, sql: sql, arguments: ["\(peer)", limit]).compactMap { id in
                UUIDText(id).map { OwedReceipt(id: $0, to: peer) }
            }
        }
    }
}
