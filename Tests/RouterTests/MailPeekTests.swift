import Contract
import LocalStack
import Store
import TestKit
import Testing

@testable import RouterCore

/// A part of a mailbox for somebody who only looks (contract §5), read by a real Postgres.
@Suite(.timeLimit(.minutes(20))) struct MailPeekTests {
    @Test func theStatementReadsNoMoreThanTheBytesAsked() async throws {
        try await MailBench.run { bench in
            let connection = try await bench.connection()
            let mail = (0..<6).map { _ in bench.envelope(from: 1, to: 2, bytes: 100) }
            _ = try await connection.query(AcceptStatement.statement(for: mail))
            func request(_ limit: Int, _ bytes: Int?) -> MailboxTable.ReadRequest {
                .init(
                    caller: bench.envelope(from: 2, to: 1).sender, after: 0, through: .max, limit: limit,
                    peekBytes: bytes)
            }
            // Several readers of one statement have bounds of their own.
            let statement = MailboxTable.read([request(10, 250), request(10, 50), request(10, nil), request(1, 606)])
            // One row more tells whether there is more. A message that does not fit alone is a row without its payload.
            #expect(try await connection.query(statement.sql).count == 3 + 6 + 6 + 2)
            let found = try await connection.query(statement)
            #expect(found.map(\.messages.count) == [2, 0, 6, 1])
            #expect(found.map(\.hasMore) == [true, true, false, true])
            // Each message has its bytes and a comma.
            let edges = try await connection.query(MailboxTable.read([request(10, 606), request(10, 605)]))
            #expect(edges.map(\.messages.count) == [6, 5] && edges.map(\.hasMore) == [false, true])
            #expect(try await bench.sql("SELECT count(*) FROM router.mailbox") == "6")
        }
    }

    /// A stranger's message that fits nowhere hides no other.
    @Test func whatDoesNotFitIsLeftOut() async throws {
        try await MailBench.run { bench in
            let connection = try await bench.connection()
            let mail = [100, 900, 100].map { bench.envelope(from: 1, to: 2, bytes: $0) }
            _ = try await connection.query(AcceptStatement.statement(for: mail))
            let caller = bench.envelope(from: 2, to: 1).sender
            let found = try await connection.query(
                MailboxTable.read([.init(caller: caller, after: 0, through: .max, limit: 10, peekBytes: 800)]))
            #expect(found[0].messages.map(\.mail.payload.count) == [100, 100] && found[0].hasMore)
        }
    }
}
