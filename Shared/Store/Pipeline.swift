/// Statements that share a transaction and a round trip, in the order in which they were added. Each answer is asked for
/// with the ticket of its statement:
/// ```swift
/// var pipeline = Pipeline()
/// let newest = pipeline.add(MailboxTable.newest(callers))
/// pipeline.add(OutcomesTable.remove(confirmed))
/// let answers = try await connection.pipeline(pipeline)
/// for mailbox in try answers[newest] { … }
/// ```
package struct Pipeline: Sendable {
    /// In the order of their execution.
    package private(set) var statements: [SQL] = []

    /// The right to one answer of the pipeline that issued it.
    package struct Ticket<Answer>: Sendable {
        fileprivate let index: Int
        fileprivate let decode: @Sendable (Rows) throws(StoreError) -> Answer
    }

    package init() {}

    package var isEmpty: Bool { self.statements.isEmpty }

    package mutating func add<Answer>(_ statement: Statement<Answer>) -> Ticket<Answer> {
        self.statements.append(statement.sql)
        return Ticket(index: self.statements.count - 1, decode: statement.decode)
    }

    /// Adds a statement whose answer nobody reads.
    @discardableResult
    package mutating func add(_ sql: SQL) -> Ticket<Void> {
        self.statements.append(sql)
        return Ticket(index: self.statements.count - 1, decode: { _ in })
    }

    package mutating func add(_ statements: [SQL]) { self.statements += statements }

    /// Puts another in the place of a statement whose answer nobody reads.
    package mutating func replace(_ ticket: Ticket<Void>, with sql: SQL) { self.statements[ticket.index] = sql }

    /// The answers of the server. Rows are never asked for by the place of their statement.
    package struct Answers: Sendable {
        private let rows: [Rows]

        init(rows: [Rows]) { self.rows = rows }

        /// Decodes the answer, each time it is asked for.
        /// - Throws: `.undecodable`.
        package subscript<Answer>(ticket: Ticket<Answer>) -> Answer {
            get throws(StoreError) { try ticket.decode(self.rows[ticket.index]) }
        }
    }
}

extension Pipeline: ExpressibleByArrayLiteral {
    /// Statements whose answers nobody reads.
    package init(arrayLiteral statements: SQL...) { self.statements = statements }
}
