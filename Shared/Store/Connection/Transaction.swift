/// An open transaction. Exists inside the closure that it was handed to, and nowhere else.
/// The first statement carries the BEGIN, so a transaction costs one round trip more than its statements.
package struct Transaction: ~Copyable, Sendable {
    private let connection: PostgresConnection

    init(on connection: PostgresConnection) {
        self.connection = connection
    }

    package func query(_ sql: SQL) async throws(StoreError) -> Rows {
        try await self.connection.runInTransaction([sql])[0]
    }

    /// - Returns: rows affected.
    @discardableResult
    package func execute(_ sql: SQL) async throws(StoreError) -> Int {
        try await self.connection.runInTransaction([sql])[0].affected
    }

    package nonisolated(nonsending) func query<Answer>(
        _ statement: Statement<Answer>
    ) async throws(StoreError) -> Answer {
        try statement.decode(try await self.query(statement.sql))
    }

    /// Several statements in one round trip.
    /// - Throws: the error of the first that failed; the transaction then rolls back, whatever its closure does.
    package nonisolated(nonsending) func pipeline(_ pipeline: Pipeline) async throws(StoreError) -> Pipeline.Answers {
        Pipeline.Answers(rows: try await self.connection.runInTransaction(pipeline.statements))
    }

    /// A text of statements without parameters, such as a migration. Must not end the transaction.
    package func script(_ text: String) async throws(StoreError) {
        try await self.connection.scriptInTransaction(text)
    }
}

/// Postgres manual, 13.2.
package enum IsolationLevel: Sendable {
    case readCommitted
    case repeatableRead

    var begin: SQL {
        switch self {
        case .readCommitted: "BEGIN ISOLATION LEVEL READ COMMITTED"
        case .repeatableRead: "BEGIN ISOLATION LEVEL REPEATABLE READ"
        }
    }
}
