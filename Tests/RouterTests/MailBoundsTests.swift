import ClusterContract
import Contract
import LocalStack
import Store
import TestKit
import Testing

@testable import RouterCore

/// Contract §13a: what strangers, and all together, can make a recipient's mailbox hold.
@Suite(.serialized) struct MailBoundsTests {
    private let ample = MailTally(messages: 1_000, bytes: 1_000_000)

    private func verdicts(
        _ envelopes: [AcceptEnvelope], spaces: [MailboxSpace?], _ connection: PostgresConnection
    ) async throws -> [AcceptStatement.Verdict] {
        try await connection.query(AcceptStatement.statement(for: envelopes, spaces: spaces)).map(
            \.verdict)
    }

    @Test func eachMessageOfABatchIsCounted() async throws {
        try await MailBench.run { bench in
            let connection = try await bench.connection()
            let space = MailboxSpace(mailbox: ample, stranger: MailTally(messages: 3, bytes: 1_000), strangers: ample)
            let all = (0..<5).map { _ in bench.envelope(from: 1, to: 2) } + [bench.envelope(from: 3, to: 2)]
            #expect(
                try await verdicts(all, spaces: all.map { _ in space }, connection) == [
                    .accepted, .accepted, .accepted, .strangerFull, .strangerFull, .accepted,
                ])
            // A message that was accepted before is acknowledged again, and takes no room.
            let none = MailboxSpace(mailbox: .zero, stranger: .zero, strangers: .zero)
            #expect(
                try await verdicts(Array(all[1...3]), spaces: [none, none, none], connection) == [
                    .repeated, .repeated, .mailboxFull,
                ])
            let few = MailboxSpace(mailbox: ample, stranger: ample, strangers: MailTally(messages: 10, bytes: 25))
            let together =
                [1, 3, 4].map { bench.envelope(from: $0, to: 2) } + [bench.envelope(from: 1, to: 5, bytes: 2_000)]
            #expect(
                try await verdicts(together, spaces: [few, few, few, nil], connection)
                    == [.accepted, .accepted, .strangersFull, .accepted])
            #expect(
                try await bench.sql(
                    "SELECT count(*), count(*) FILTER (WHERE recipient = \(person(2).bits)) FROM router.mailbox")
                    == "7|6")
            #expect(try await bench.sql("SELECT count(*) FROM router.ledger") == "7")
        }
    }

    /// Contract §13b: in all mailboxes together, and nobody who has a peer is refused.
    @Test func allStrangersTogetherLeaveRoomForOthers() async throws {
        try await MailBench.run { bench in
            let connection = try await bench.connection()
            let pool = PostgresPool(bench.store, connections: 1, logger: quiet)
            func verdicts(_ envelopes: [AcceptEnvelope], max: Int?) async throws -> [AcceptStatement.Verdict] {
                try await connection.query(AcceptStatement.statement(for: envelopes, strangersMax: max)).map(\.verdict)
            }
            // These two are peers; what one of them sends to anybody counts for nobody.
            let (one, other) = (person(1).bits, person(2).bits)
            _ = try await bench.sql(
                "INSERT INTO router.peers VALUES (\(one), \(other), now()), (\(other), \(one), now())")
            let first = [1, 3, 4, 5].map { bench.envelope(from: $0, to: 6 + $0, bytes: 100) }
            #expect(try await verdicts(first, max: nil) == Array(repeating: .accepted, count: 4))
            // Far from the bound the size on the disk stands for strangers: nobody is asked about.
            #expect(try await StrangerMail.measured(of: 1 << 40, on: pool).bound == nil)
            // Not counted again for a while, whatever the bound.
            #expect(try await StrangerMail.measured(of: 400, on: pool).bound == 400)
            #expect(try await bench.sql("SELECT bytes <> 300 FROM router.stranger_bytes") == "t")
            _ = try await bench.sql("UPDATE router.stranger_bytes SET counted_at = now() - interval '1 hour'")
            #expect(try await StrangerMail.measured(of: 400, on: pool).bound == 400)
            #expect(try await bench.sql("SELECT store, bytes FROM router.stranger_bytes") == "mail|300")
            let next = [(3, 100), (4, 101), (1, 101), (3, 101)].map { bench.envelope(from: $0, to: 20, bytes: $1) }
            #expect(
                try await verdicts(next + [first[1]], max: 400)
                    == [.accepted, .everyStrangerFull, .accepted, .everyStrangerFull, .repeated])
            #expect(
                try await bench.sql("SELECT count(*) FROM router.mailbox WHERE recipient = \(person(20).bits)") == "2")
        }
    }

    @Test func whoHasBeenAnsweredIsNoStranger() async throws {
        try await MailBench.run { bench in
            let connection = try await bench.connection()
            func write(_ sender: Int, _ recipient: Int, daysAgo: Int) async throws {
                _ = try await bench.sql(
                    """
                    INSERT INTO router.peers VALUES
                        (\(person(sender).bits), \(person(recipient).bits), now() - interval '\(daysAgo) days')
                    """)
            }
            for (peer, back) in [(1, 29), (3, 32)] {
                try await write(peer, 2, daysAgo: 1)
                try await write(2, peer, daysAgo: back)
            }
            try await write(4, 2, daysAgo: 1)
            let space = MailboxSpace(mailbox: MailTally(messages: 2, bytes: 100), stranger: .zero, strangers: .zero)
            let all = [1, 3, 4, 1, 1].map { bench.envelope(from: $0, to: 2) }
            // Refused messages keep their places for the rest of the batch.
            #expect(
                try await verdicts(all, spaces: all.map { _ in space }, connection)
                    == [.accepted, .strangerFull, .mailboxFull, .mailboxFull, .mailboxFull])
            let counted = try await connection.query(
                MailboxTable.count([person(2), person(5)], asked: [person(3)], MailBounds()))
            #expect(
                counted == [
                    CountedMail(mailbox: MailTally(messages: 1, bytes: 10), strangers: .zero, senders: [:]),
                    CountedMail(mailbox: .zero, strangers: .zero, senders: [:]),
                ])
        }
    }

    @Test func aKeyThatIsNotTheSendersIsRefused() async throws {
        try await MailBench.run { bench in
            let forged = bench.envelope(from: 1, to: 2, key: 3)
            try await bench.withRouter(RouterConfiguration()) { _, _ in
                // Well signed, by somebody else.
                let answers1 = try await bench.send([forged])
                #expect(answers1.map(\.refusal) == [.authFailed])
                var genuine = bench.envelope(from: 1, to: 2)
                genuine.messageID = forged.messageID
                let answers2 = try await bench.send([genuine])
                #expect(answers2.map(\.isAccepted) == [true])
            }
            #expect(try await bench.sql("SELECT count(*) FROM router.ledger") == "1")
        }
    }

    private static let bounds = MailBounds(
        mailbox: MailTally(messages: 12, bytes: 100_000), stranger: MailTally(messages: 4, bytes: 10_000),
        strangers: MailTally(messages: 8, bytes: 50_000))

    private func summary(_ answers: [Answer]) -> [Int] {
        for answer in answers where !answer.isAccepted {
            #expect(answer.refusal == .rateLimited && answer.wait ?? 0 >= 60_000)
        }
        return answers.indices.filter { answers[$0].isAccepted }
    }

    /// The bound holds for any owner of the mailbox, however it became the owner.
    @Test func theBoundHoldsAcrossRouters() async throws {
        try await MailBench.run { bench in
            let configuration = RouterConfiguration(bounds: Self.bounds)
            var first: [AcceptEnvelope] = []
            try await bench.withRouter(configuration) { router, pool in
                first = (0..<6).map { _ in bench.envelope(from: 1, to: 2) }
                let answers3 = try await bench.send(first)
                #expect(summary(answers3) == [0, 1, 2, 3])
                let answers4 = try await bench.send([bench.envelope(from: 3, to: 2, bytes: 10_001)])
                #expect(summary(answers4) == [])
                let answers5 = try await bench.send([bench.envelope(from: 3, to: 2, bytes: 10_000)])
                #expect(summary(answers5) == [0])
                #expect(await router.memory.loads.largest { _ in true } == MailTally(messages: 5, bytes: 10_040))
                let fullest = await router.memory.loads.fullest(3, least: 0.1) { _ in true }
                #expect(fullest.map(\.mail) == [MailTally(messages: 5, bytes: 10_040)])
                try await router.noteFullMailboxes(pool)
                #expect(try await bench.sql("SELECT messages, bytes FROM router.fullest_mailboxes") == "5|10040")
            }
            try await bench.withRouter(configuration) { _, _ in
                let answers6 = try await bench.send([bench.envelope(from: 1, to: 2)])
                #expect(summary(answers6) == [])
                // Four are there, of two senders; the one sent before is acknowledged.
                let others = [4, 4, 5, 6, 7].map { bench.envelope(from: $0, to: 2) }
                let answers7 = try await bench.send([first[1]] + others)
                #expect(summary(answers7) == [0, 1, 2, 3])
                // To everybody else, as ever.
                let answers8 = try await bench.send((0..<4).map { _ in bench.envelope(from: 1, to: 8) })
                #expect(summary(answers8) == [0, 1, 2, 3])
            }
            #expect(
                try await bench.sql("SELECT recipient >> 40, count(*) FROM router.mailbox GROUP BY 1 ORDER BY 1")
                    == "2|8\n8|4")
        }
    }

    /// A router remembers the mailbox until it removes the mail.
    @Test func noMailboxOfAnErasedRecipientIsNoted() async throws {
        try await MailBench.run { bench in
            try await bench.withRouter(RouterConfiguration(bounds: Self.bounds)) { router, pool in
                let answers = try await bench.send((0..<4).map { _ in bench.envelope(from: 1, to: 2) })
                #expect(summary(answers).count == 4)
                _ = try await bench.sql("DELETE FROM auth.identities WHERE whisper_id = \(person(2).bits)")
                try await router.noteFullMailboxes(pool)
                #expect(try await bench.sql("SELECT count(*) FROM router.full_mailboxes") == "0")
                #expect(await router.memory.loads.largest { _ in true } != .zero)
                try await router.expireMail(to: person(2), pool)
                #expect(await router.memory.loads.largest { _ in true } == .zero)
            }
        }
    }

    @Test func whoReadsHasRoomAgain() async throws {
        try await MailBench.run { bench in
            try await bench.withRouter(RouterConfiguration(bounds: Self.bounds)) { _, pool in
                let first = (0..<4).map { _ in bench.envelope(from: 1, to: 2) }
                let answers9 = try await bench.send(first)
                #expect(summary(answers9).count == 4)
                let answers10 = try await bench.send([bench.envelope(from: 1, to: 2)])
                #expect(summary(answers10) == [])
                try await bench.acknowledge(first)
                try await waitUntil("there is room", within: .seconds(60), every: .milliseconds(200)) {
                    try await bench.send([bench.envelope(from: 1, to: 2)])[0].isAccepted
                }
            }
        }
    }
}
