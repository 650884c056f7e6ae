import ClusterContract
import Contract
import LocalStack
import Store
import Testing

@testable import RouterCore

/// Routers' answers while the standby that commits wait for is away.
@Suite struct ReplicationTests {
    /// A commit that waits for its standby when the primary crashes is there after the restart. "Accepted" means that a
    /// standby has it, also for who sends the message again.
    @Test func aRepetitionIsAnsweredWhenAStandbyHasIt() async throws {
        try await Self.run { bench, standby in
            let store = try await bench.connection()
            let router = Router(
                configuration: RouterConfiguration(), bus: bench.bus, store: store, logger: quiet)
            // The pair is written down once a day, and not again for the messages that follow.
            try await bench.handle(bench.envelope(from: 1, to: 2), on: router).value

            let envelope = bench.envelope(from: 1, to: 2, question: 1)
            var repetition = envelope
            repetition.answer.question = 2
            await standby.kill()
            let first = bench.handle(envelope, on: router)
            try await bench.untilWaitingForStandby()
            try await bench.database.server.restart()
            await #expect(throws: StoreError.self) { try await first.value }
            let stored = try await bench.sql("SELECT count(*) FROM router.ledger")
            #expect(stored == "2", "no standby has the second")

            try await store.connect()
            let second = bench.handle(repetition, on: router)
            try await bench.untilWaitingForStandby(or: "it is answered") { bench.answer(to: 2) != nil }
            #expect(bench.answer(to: 2) == nil, "answered before a standby has it")
            try await standby.start()
            try await second.value
            try await waitUntil("it is answered", within: .seconds(30)) { bench.answer(to: 2)?.isAccepted == true }
            #expect(bench.answer(to: 1) == nil)
            #expect(try await bench.sql("SELECT count(*) FROM router.ledger") == "2")
            try await waitUntil("the standby shows it", within: .seconds(30)) {
                try await standby.run("SELECT count(*) FROM router.ledger") == "2"
            }
        }
    }

    @Test func theBarrierWritesOnlyWhereAStandbyIsWaitedFor() async throws {
        try await MailBench.run(alone: true) { bench in
            let store = try await bench.connection()
            func writes() async throws -> Bool {
                var pipeline = Pipeline()
                pipeline.add(ReplicationBarrier.statement)
                let isWriting = pipeline.add(
                    Statement<Bool>(value: "SELECT pg_current_xact_id_if_assigned() IS NOT NULL"))
                return try await store.pipeline(pipeline)[isWriting]
            }
            #expect(try await !writes())
            let standby = try await PostgresServer.standby(of: bench.database.server)
            try await bench.database.server.waitFor()
            let isWriting = try await writes()
            await standby.stop()
            #expect(isWriting)
        }
    }

    /// A primary that is cut off from its standbys may have a successor, and its routers too. They stop answering.
    @Test func aRouterWhosePrimaryIsCutOffOwnsNothing() async throws {
        try await Self.run { bench, standby in
            var bench = bench
            bench.statementTimeout = .seconds(1)
            try await bench.withRouter(RouterConfiguration()) { router, _ in
                await standby.kill()
                try await waitUntil("the router owns nothing", within: .seconds(60)) { await router.owned.isEmpty }
                try await standby.start()
                try await waitUntil("the router owns everything again", within: .seconds(60)) {
                    await router.owned.count == Partition.count
                }
                #expect(try await bench.send([bench.envelope(from: 1, to: 2)]).allSatisfy(\.isAccepted))
            }
        }
    }

    /// Accepted messages are there, and are not stored again; the same router accepts the next ones.
    @Test func afterAPromotionTheRouterGoesOnByItself() async throws {
        try await Self.run { bench, standby in
            var bench = bench
            bench.standby = standby
            try await bench.withRouter(RouterConfiguration()) { router, _ in
                let before = (1...20).map { bench.envelope(from: $0, to: 40 - $0) }
                #expect(try await bench.send(before).allSatisfy(\.isAccepted))
                await bench.database.server.kill()
                let under = try await bench.begin([bench.envelope(from: 1, to: 2)])
                try await standby.promote()
                #expect(try await bench.answers(to: under).allSatisfy(\.isAccepted))
                let after = (1...20).map { bench.envelope(from: $0, to: 40 - $0) }
                #expect(try await bench.send(before + after).allSatisfy(\.isAccepted))
                #expect(await router.owned.count == Partition.count)
                let stored = "SELECT count(*), count(DISTINCT message_id) FROM router.mailbox"
                #expect(try await standby.run(stored) == "41|41")
            }
        }
    }

    private static func run(_ body: (MailBench, PostgresServer) async throws -> Void) async throws {
        try await MailBench.run(alone: true) { bench in
            let standby = try await PostgresServer.standby(of: bench.database.server)
            try await bench.database.server.waitFor()
            let result: Result<Void, any Error>
            do {
                result = .success(
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        group.addTask { try await bench.hearAnswers() }
                        try await body(bench, standby)
                        group.cancelAll()
                    })
            } catch {
                result = .failure(error)
            }
            await standby.stop()
            try result.get()
        }
    }
}

extension MailBench {
    /// Has a router that owns nothing handle a batch of one message.
    fileprivate func handle(_ envelope: AcceptEnvelope, on router: Router) -> Task<Void, any Error> {
        var batch = Batch()
        batch.add(.accept(envelope))
        batch.areGenuine = [true]
        batch.positions = [(Partition(of: envelope.to), .start)]
        return Task { [batch] in try await router.handle(batch) }
    }

    /// Returns when a router's commit waits for the standby, or the condition holds.
    fileprivate func untilWaitingForStandby(
        or what: String = "nothing", _ condition: @Sendable () -> Bool = { false }
    ) async throws {
        let waiting =
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name = 'router'"
        try await waitUntil("a commit waits for the standby, or \(what)", within: .seconds(30)) {
            if condition() { return true }
            return try await self.sql(waiting) == "1"
        }
    }
}
