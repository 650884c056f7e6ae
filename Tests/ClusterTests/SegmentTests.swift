import LocalStack
import TestKit
import Testing

/// Where mail and outcomes lie, and how they leave.
@Suite(.serialized, .cluster(mistreated)) struct SegmentTests {
    /// A forgotten transaction keeps Postgres from removing any row: what was deleted goes with its segment all the same, and
    /// what waits stays.
    @Test func aSegmentIsEmptiedThoughATransactionIsOpen() async throws {
        try await Cluster.calm()
        let stack = Cluster.stack
        async let forgotten: Void = Self.holdTransactionOpen()
        try await waitUntil("a transaction is forgotten", within: .seconds(20)) {
            try await Cluster.database("SELECT count(*) FROM pg_stat_activity WHERE application_name = '\(Self.name)'")
                == "1"
        }
        let (alice, bob, carol) = (
            try await Cluster.phone(gateway: 1), try await Cluster.phone(gateway: 2), try await Cluster.phone()
        )
        carol.client.cut()
        var waiting: [String] = []
        for _ in 0..<10 {
            bob.acknowledge(try await alice.text(bob), from: alice.id)
            waiting.append(try await alice.text(carol))
        }
        for _ in 0..<10 { _ = try await alice.client.next("message_delivered") }
        for (table, sequence) in [("mailbox", "mail_numbers"), ("outcomes", "outcome_numbers")] {
            let segment = try await Cluster.database("SELECT router.segment(last_value) FROM router.\(sequence)")
            #expect(try await Self.size(of: "\(table)_\(segment)") > 0)
            try await Self.turn(sequence, by: 2)
            try await waitUntil(
                "segment \(segment) of \(table) is empty", within: .seconds(30), every: .milliseconds(250)
            ) {
                try await Self.size(of: "\(table)_\(segment)") == 0
            }
        }
        let list = waiting.map { "'\($0)'" }.joined(separator: ", ")
        #expect(
            try await Cluster.database("SELECT count(*) FROM router.mailbox_kept WHERE message_id IN (\(list))")
                == "\(waiting.count)")
        let back = try await Cluster.reconnected(carol)
        #expect(try await back.pending().map(\.id) == waiting)
        for id in waiting { back.acknowledge(id, from: alice.id) }
        for _ in waiting { _ = try await alice.client.next("message_delivered") }
        #expect(try await back.pending().isEmpty)
        _ = try await stack.postgres.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '\(Self.name)'")
        try? await forgotten
    }

    /// People write to each other, come and go, while segment after segment is cleared away under them.
    @Test func nothingIsLostOrDoubledWhileSegmentsTakeTurns() async throws {
        try await Cluster.calm()
        let traffic = try await Traffic(pairs: 4, seed: 11, on: Cluster.stack)
        var turns = 0
        try await traffic.run(onTheWay: .seconds(2)) {
            for _ in 0..<6 {
                for sequence in ["mail_numbers", "outcome_numbers"] { try await Self.turn(sequence, by: 1) }
                let before = turns
                try await waitUntil("the next segments are empty", within: .seconds(30), every: .milliseconds(100)) {
                    let next = try await Cluster.database(
                        "SELECT (router.segment(last_value) + 1) % 3 FROM router.mail_numbers")
                    guard try await Self.size(of: "mailbox_\(next)") == 0 else { return false }
                    turns = before + 1
                    return true
                }
            }
        }
        #expect(turns == 6)
    }

    /// A transaction that has read mail and stays open keeps a segment from being emptied, and nothing else from happening.
    @Test func aReaderHoldsUpTheEmptyingAlone() async throws {
        try await Cluster.calm()
        let stack = Cluster.stack
        let (alice, bob) = (try await Cluster.phone(gateway: 1), try await Cluster.phone(gateway: 2))
        bob.acknowledge(try await alice.text(bob), from: alice.id)
        _ = try await alice.client.next("message_delivered")
        async let read = try? Cluster.database(
            "SET application_name = 'reader'; BEGIN; SELECT count(*) FROM router.mailbox; SELECT pg_sleep(120)")
        try await waitUntil("somebody reads", within: .seconds(20)) {
            try await Cluster.database(
                "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'reader' AND wait_event = 'PgSleep'")
                == "1"
        }
        let segment = try await Cluster.database("SELECT router.segment(last_value) FROM router.mail_numbers")
        try await Self.turn("mail_numbers", by: 2)
        for _ in 0..<20 {
            let id = try await alice.text(bob)
            _ = try await bob.received(id)
            bob.acknowledge(id, from: alice.id)
            _ = try await alice.client.next("message_delivered")
        }
        #expect(try await Self.size(of: "mailbox_\(segment)") > 0)
        _ = try await stack.postgres.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'reader'")
        _ = await read
        try await waitUntil("segment \(segment) is empty", within: .seconds(60), every: .milliseconds(250)) {
            try await Self.size(of: "mailbox_\(segment)") == 0
        }
    }

    /// While one router moves an outcome to the kept segment, another may receive its confirmation. Postgres fails the
    /// later of the two.
    @Test func aConfirmationMeetsARowThatIsBeingMoved() async throws {
        try await Cluster.calm()
        let stack = Cluster.stack
        let (alice, bob) = (try await Cluster.phone(gateway: 1), try await Cluster.phone(gateway: 2))
        alice.client.answersPings = false
        let id = try await alice.text(bob)
        bob.acknowledge(id, from: alice.id)
        _ = try await alice.client.next("message_delivered")
        alice.client.cut()
        func events() throws -> [String] {
            try [1, 2].flatMap { number in
                try String(contentsOfFile: stack.log(of: .router(number)), encoding: .utf8).split(separator: "\n")
                    .map { try JSON(parsing: Array($0.utf8))["event"]?.string ?? "" }
            }
        }
        let interruptions = try events().count { $0 == "routing interrupted" }
        let row = "UPDATE router.outcomes SET segment = 3 WHERE message_id = '\(id)' AND segment < 3"
        let back = try await Cluster.collide(with: row) {
            let back = try await Cluster.reconnected(alice, gateway: 2)
            try await back.ask("update_tokens").expecting("tokens_updated")
            #expect(try await back.client.next("message_delivered").payload.id == id)
            return back
        }
        try await waitUntil("the outcome is confirmed", within: .seconds(10), every: .milliseconds(50)) {
            try await Cluster.database("SELECT count(*) FROM router.outcomes WHERE message_id = '\(id)'") == "0"
        }
        #expect(try events().contains("batch met another transaction"))
        #expect(try events().count { $0 == "routing interrupted" } == interruptions)
        #expect(back.client.ending == nil)
    }

    private static let name = "forgotten"

    private static func holdTransactionOpen() async throws {
        _ = try await Cluster.database(
            "SET application_name = '\(self.name)'; SELECT pg_current_xact_id(), count(*) FROM auth.identities; SELECT pg_sleep(120)"
        )
    }

    /// Bytes of the rows' pages, dead ones included.
    private static func size(of table: String) async throws -> Int {
        Int(try await Cluster.database("SELECT pg_relation_size('router.\(table)')")) ?? -1
    }

    /// Lets a sequence go on in a later segment.
    private static func turn(_ sequence: String, by count: Int) async throws {
        _ = try await Cluster.database(
            "SELECT setval('router.\(sequence)', ((last_value >> 16) + \(count)) << 16) FROM router.\(sequence)")
    }
}
