import SQLite

/// Reads beside `MessageTable`, `ChangeTable` and `DeliveryTable` what waits in all of them.
extension ClientStore {
    /// Chats in which something of ours waits to be sent, and how many messages and changes.
    package func waitingChats(limit: Int) throws(ClientStoreError) -> [(place: Conversation, count: Int64)] {
        try self.read { database in
            let sql = """
                SELECT chat, sum(waiting) AS waiting FROM (
                    SELECT coalesce(group_id, peer) AS chat, count(*) AS waiting FROM messages
                    WHERE state IN ('queued', 'sending') GROUP BY chat
                    UNION ALL
                    SELECT peer, count(*) FROM outgoing_changes WHERE state = 'queued' GROUP BY peer
                    UNION ALL
                    SELECT group_id, count(DISTINCT number) FROM group_sendings
                        JOIN group_deliveries ON sending = number
                    WHERE state = 'queued' AND body IS NOT NULL GROUP BY group_id)
                GROUP BY chat ORDER BY chat LIMIT ?
                """
            return try Row.fetchAll(database, sql: sql, arguments: [limit]).compactMap { row in
                Conversation(row["chat"] as String).map { ($0, row["waiting"] as Int64) }
            }
        }
    }
}
