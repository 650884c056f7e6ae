/// Steps that bring a file up to date. Each runs once per file, in a transaction.
package struct DatabaseMigrator {
    private var steps: [(identifier: String, body: (Database) throws -> Void)] = []

    package init() {}

    /// - Parameter identifier: stays for ever. It is kept in the file.
    package mutating func registerMigration(_ identifier: String, _ body: @escaping (Database) throws -> Void) {
        self.steps.append((identifier, body))
    }

    /// In the order in which they are done.
    package var migrations: [String] { self.steps.map(\.identifier) }

    /// Steps applied to the file, also by later releases. The table's name is that of GRDB, which made the first
    /// stores.
    package func appliedIdentifiers(_ database: Database) throws -> Set<String> {
        guard try database.tableExists("grdb_migrations") else { return [] }
        return Set(try String.fetchAll(database, sql: "SELECT identifier FROM grdb_migrations"))
    }

    /// Runs the missing steps.
    /// - Throws: errors of a step, or of SQLite. The steps before it stay applied.
    package func migrate(_ queue: DatabaseQueue) throws {
        try queue.writeWithoutTransaction { database in
            try database.execute(
                sql: "CREATE TABLE IF NOT EXISTS grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY)")
            let applied = try self.appliedIdentifiers(database)
            for step in self.steps where !applied.contains(step.identifier) {
                try database.inTransaction {
                    try step.body(database)
                    try database.run(
                        sql: "INSERT INTO grdb_migrations (identifier) VALUES (?)", arguments: [step.identifier])
                }
                database.forgetStatements()
            }
        }
    }
}
