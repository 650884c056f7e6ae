import Synchronization

/// A connection for many threads: one after the other. The calls block.
///
/// Nobody asks it from within a call: that would wait for itself.
package final class DatabaseQueue: Sendable {
    private let turn = Mutex(())
    /// Only whoever has the turn touches it.
    private nonisolated(unsafe) let database: Database

    /// Opens or creates a file.
    /// - Parameters:
    ///   - path: of the file, or a URI of SQLite's. Without it the database is in memory.
    ///   - prepare: what a connection needs to be told first.
    /// - Throws: `DatabaseError`, also if the file is no database.
    package init(
        path: String = ":memory:", busyMilliseconds: Int32 = 5_000, prepare: (Database) throws -> Void = { _ in }
    ) throws {
        self.database = try Database(path: path, busyMilliseconds: busyMilliseconds)
        try prepare(self.database)
        _ = try Int.fetchOne(self.database, sql: "SELECT count(*) FROM sqlite_master")
    }

    /// Waits for the turn.
    private func inTurn<T>(_ body: (Database) throws -> T) throws -> T {
        var result: Result<T, any Error>?
        self.turn.withLock { _ in result = Result { try body(self.database) } }
        // The line above has set it.
        return try result!.get()
    }

    /// Reads one state of the store.
    package func read<T>(_ body: (Database) throws -> T) throws -> T {
        try self.inTurn { database in try database.inTransaction(.deferred) { try body(database) } }
    }

    /// Reads without a transaction: for a connection beside which nobody writes.
    package func unsafeRead<T>(_ body: (Database) throws -> T) throws -> T { try self.inTurn(body) }

    /// One transaction. It is on disk when the call returns.
    /// - Throws: what `body` throws, or SQLite. Nothing was changed then.
    package func write<T>(_ body: (Database) throws -> T) throws -> T {
        try self.inTurn { database in try database.inTransaction { try body(database) } }
    }

    package func writeWithoutTransaction<T>(_ body: (Database) throws -> T) throws -> T { try self.inTurn(body) }

    /// Closes the file. Later calls throw `.misuse`.
    package func close() { self.turn.withLock { _ in self.database.close() } }
}
