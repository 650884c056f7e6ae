import Contract
import SQLite

/// The only code that reads or writes `messages_fts`: the words of all texts.
///
/// Triggers keep it in the transaction that writes the message. So a text that is edited or deleted is not found by its
/// old words. The texts themselves stand in `messages` alone.
extension ClientStore {
    static func migrateSearch(_ database: Database) throws {
        try database.execute(
            sql: """
                CREATE VIEW message_texts AS
                    SELECT number, body FROM messages WHERE kind = 'text' AND typeof(body) = 'text';
                CREATE VIRTUAL TABLE messages_fts USING fts5 (
                    body, content = 'message_texts', content_rowid = 'number',
                    tokenize = 'unicode61 remove_diacritics 2');
                CREATE TRIGGER messages_fts_insert AFTER INSERT ON messages BEGIN
                    INSERT INTO messages_fts (rowid, body)
                        SELECT new.number, new.body WHERE new.kind = 'text' AND typeof(new.body) = 'text';
                END;
                CREATE TRIGGER messages_fts_update AFTER UPDATE OF kind, body ON messages BEGIN
                    INSERT INTO messages_fts (messages_fts, rowid, body)
                        SELECT 'delete', old.number, old.body WHERE old.kind = 'text' AND typeof(old.body) = 'text';
                    INSERT INTO messages_fts (rowid, body)
                        SELECT new.number, new.body WHERE new.kind = 'text' AND typeof(new.body) = 'text';
                END;
                CREATE TRIGGER messages_fts_delete AFTER DELETE ON messages BEGIN
                    INSERT INTO messages_fts (messages_fts, rowid, body)
                        SELECT 'delete', old.number, old.body WHERE old.kind = 'text' AND typeof(old.body) = 'text';
                END;
                INSERT INTO messages_fts (messages_fts) VALUES ('rebuild');
                """)
    }

    /// Chinese, Japanese and Korean texts were one word from one space to the next.
    static func migrateWords(_ database: Database) throws { try database.execute(sql: Self.wordsTable()) }

    /// Without this, a prefix of one or two letters is collected from all words that have it: too slow in a large
    /// store.
    static func migrateWordBeginnings(_ database: Database) throws {
        try database.execute(sql: Self.wordsTable(options: ", prefix = '1 2'"))
    }

    static var undoWordBeginnings: StepDown { StepDown(migration: "word beginnings", sql: Self.wordsTable()) }

    /// Makes the table anew of all texts.
    private static func wordsTable(options: String = "") -> String {
        """
        DROP TABLE messages_fts;
        CREATE VIRTUAL TABLE messages_fts USING fts5 (
            body, content = 'message_texts', content_rowid = 'number', tokenize = '\(WordTokenizer.name)'\(options));
        INSERT INTO messages_fts (messages_fts) VALUES ('rebuild');
        """
    }

    /// Finds texts that have all of the words, newest first. Case and accents do not count, and the beginning of the
    /// last word is enough. Emoji and punctuation are no words. Chinese, Japanese and Korean words may begin anywhere.
    /// - Parameters:
    ///   - place: only this conversation.
    ///   - before: only messages older than the one with this number.
    package func search(
        _ text: String, in place: Conversation? = nil, before: Int64? = nil, limit: Int
    ) throws(ClientStoreError) -> [(number: Int64, message: Message)] {
        guard let pattern = Self.pattern(text) else { return [] }
        return try self.read { database -> [(number: Int64, message: Message)] in
            let sql = """
                SELECT messages.* FROM messages_fts JOIN messages ON messages.number = messages_fts.rowid
                WHERE messages_fts MATCH ?1 AND messages_fts.rowid < ?2
                    AND (?3 IS NULL OR coalesce(messages.group_id, messages.peer) = ?3)
                ORDER BY messages_fts.rowid DESC LIMIT ?4
                """
            let rows = try Row.fetchAll(
                database, sql: sql, arguments: [pattern, before ?? .max, place?.name, limit])
            return rows.compactMap { row in
                MessageTable.message(row).map { (number: row["number"] as Int64, message: $0) }
            }
        }
    }

    /// The query for FTS5. Each word is quoted, so nothing in it is an operator.
    /// - Returns: `nil` if there is no word.
    private static func pattern(_ text: String) -> String? {
        let words = text.split(whereSeparator: \.isWhitespace)
            .filter { word in word.contains { $0.isLetter || $0.isNumber } }
            .prefix(ClientLimits.searchWordsMax)
        let quoted = words.enumerated().map { place, word in
            let isLast = place == words.count - 1
            // One character is the beginning of its pairs.
            let isOpen = isLast || word.unicodeScalars.last.map { WordTokenizer.isCharacter($0.value) } == true
            let text = word.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"")
            return "\"\(text)\"" + (isOpen ? "*" : "")
        }
        return quoted.isEmpty ? nil : quoted.joined(separator: " ")
    }
}
