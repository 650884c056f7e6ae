import ClusterContract
import Contract
import LocalStack
import Store
import TestKit
import Testing

@testable import RouterCore

/// A Job of an erased identity, or about it, makes no row, however late it comes (contract §20.3).
@Suite(.serialized, .timeLimit(.minutes(20))) struct ErasedIdentityTests {
    @Test func aLateJobMakesNoRow() async throws {
        try await MailBench.run { bench in
            let connection = try await bench.connection()
            func accept(_ envelope: AcceptEnvelope) async throws -> AcceptStatement.Verdict {
                try await connection.query(AcceptStatement.statement(for: [envelope]))[0].verdict
            }
            func expireMail(to number: Int) async throws -> Int {
                try await connection.query(MailboxTable.expire(of: person(number))).count
            }
            let (to, from) = (bench.envelope(from: 1, to: 2), bench.envelope(from: 2, to: 1))
            let (read, unread) = (bench.envelope(from: 2, to: 3), bench.envelope(from: 2, to: 4))
            for envelope in [to, from, read, unread] { #expect(try await accept(envelope) == .accepted) }

            try await bench.erase(2)
            // Each would have been told before.
            #expect(try await connection.query(ReceiptStatement.statement(for: [bench.receipt(of: read)])).count == 1)
            #expect(try await expireMail(to: 4) == 0)
            #expect(try await bench.sql("SELECT count(*) FROM router.outcomes") == "0")
            for late in [bench.envelope(from: 1, to: 2), bench.envelope(from: 2, to: 1)] {
                #expect(try await accept(late) != .accepted)
            }
            // The message is known, and nobody's peers are noted for it.
            try await connection.execute(PeersTable.note([to]))
            try await connection.execute(PeersTable.note([from]))
            let full = MailboxLoads.FullMailbox(recipient: person(2), mail: .zero, fill: 1)
            try await connection.execute(FullMailboxesTable.note([full]))
            let rows = "SELECT (SELECT count(*) FROM router.peers), (SELECT count(*) FROM router.full_mailboxes)"
            #expect(try await bench.sql(rows) == "0|0")
            #expect(try await bench.sql("SELECT count(*) FROM router.ledger") == "4")

            // The same makes rows of somebody who is there.
            let last = bench.envelope(from: 5, to: 6)
            #expect(try await accept(last) == .accepted)
            try await connection.execute(PeersTable.note([last]))
            let other = MailboxLoads.FullMailbox(recipient: person(6), mail: .zero, fill: 1)
            try await connection.execute(FullMailboxesTable.note([other]))
            #expect(try await bench.sql(rows) == "1|1")
            #expect(try await expireMail(to: 6) == 1)
        }
    }
}
