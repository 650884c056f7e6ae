import SQLite

/// Texts that a host keeps on this device, such as the looks of its window. They are rows of `settings`.
extension ClientStore {
    private static let prefix = "host."

    package func hostValues() throws(ClientStoreError) -> [(key: String, value: String)] {
        try self.read { database -> [(key: String, value: String)] in
            let sql = "SELECT name, value FROM settings WHERE name >= ? AND name < ? ORDER BY name LIMIT ?"
            let arguments: StatementArguments = [Self.prefix, "host/", ClientLimits.hostValuesMax]
            return try Row.fetchAll(database, sql: sql, arguments: arguments).map { row in
                (key: String((row["name"] as String).dropFirst(Self.prefix.count)), value: row["value"])
            }
        }
    }

    /// - Parameter value: an empty one removes the key.
    /// - Returns: `false` if there are `ClientLimits.hostValuesMax` others.
    package func setHostValue(_ value: String, of key: String) throws(ClientStoreError) -> Bool {
        try self.write { database -> Bool in
            let name = Self.prefix + key
            guard !value.isEmpty else {
                try SettingsTable.set(name, to: nil, in: database)
                return true
            }
            let sql = "SELECT count(*) FROM settings WHERE name >= ? AND name < ? AND name <> ?"
            let others = try Int.fetchOne(database, sql: sql, arguments: [Self.prefix, "host/", name]) ?? 0
            guard others < ClientLimits.hostValuesMax else { return false }
            try SettingsTable.set(name, to: value, in: database)
            return true
        }
    }
}
