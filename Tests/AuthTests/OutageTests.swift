import AuthCore
import AuthTestKit
import Bus
import ClusterContract
import Contract
import Testing

/// Auth while Redis or Postgres fails, or after an instance dies.
@Suite(.serialized, .timeLimit(.minutes(20))) struct OutageTests {
    let alice = TestIdentity(1)

    @Test func anEmptiedRedisLogsNobodyOut() async throws {
        try await AuthBench.run { bench in
            let login = try await bench.login(self.alice)
            bench.bus.forgetEverything()
            #expect(try await bench.session(login.session.tokenHash) == login.session)
            #expect(try await bench.isCached(login.session.tokenHash))
        }
    }

    @Test func withoutRedisSessionsAreReadFromPostgres() async throws {
        try await AuthBench.run { bench in
            let login = try await bench.login(self.alice)
            bench.bus.goAway()
            #expect(try await bench.directory.session(login.session.tokenHash) == login.session)
            bench.bus.comeBack()
        }
    }

    @Test func withoutPostgresEveryQuestionIsAnsweredAllTheSame() async throws {
        try await AuthBench.run(alone: true) { bench in
            let login = try await bench.login(self.alice)
            let challenge = try await bench.challenge(self.alice)
            await bench.database.server.kill()
            #expect(try await bench.directory.session(login.session.tokenHash) == login.session)
            let proof = self.alice.proof(challenge.id, signing: challenge.bytes)
            let answers = [
                await bench.ask(.session(tokenHash: Bytes32())),
                await bench.send("register_begin", self.alice.begin(as: self.alice.id())),
                await bench.send("register_proof", proof),
                await bench.send("session_refresh", AuthBench.privileged, session: login.session, token: login.token),
                await bench.send("logout", AuthBench.privileged, session: login.session),
                await bench.send("update_tokens", AuthBench.privileged, session: login.session),
            ]
            for answer in answers {
                guard case .refused(let refusal) = answer else { throw Unexpected(answer) }
                #expect(refusal.code == .internalError && refusal.message.hasSuffix("safe to retry"))
            }
            try await bench.database.server.start()
            #expect(try await bench.untilAnswered { try await bench.session(login.session.tokenHash) } == login.session)
        }
    }

    @Test func framesOfOthersAreRefused() async throws {
        try await AuthBench.run { bench in
            for type in ["send_message", "no_such_frame"] {
                #expect(await bench.send(type, "{}").refusal == .internalError)
            }
            #expect(await bench.send("register_begin", "{}").refusal == .invalidPayload)
        }
    }

    @Test func jobsOfADeadInstanceAreTakenOver() async throws {
        try await AuthBench.run(instances: 0) { bench in
            let request = ServiceRequest(
                answer: AnswerAddress(node: bench.near, question: 77), connection: ConnectionID(value: 1), session: nil,
                body: .session(tokenHash: Bytes32()))
            try await bench.bus.append(request, to: Keyspace.auth)
            // An entry that is no Job does not stop the consumer.
            try await bench.bus.append([0xFF], to: Keyspace.auth.name)
            let taken = try await bench.bus.take(
                from: Keyspace.auth.name, group: RequestConsumer.group, consumer: "dead", limit: 9, blockFor: .zero)
            #expect(taken.count == 2)
            let answer = try await withThrowingTaskGroup { group in
                group.addTask { await bench.consumer(claimIdle: .zero).run() }
                defer { group.cancelAll() }
                let answer = await bench.listener.answer(to: 77) {}
                try await bench.untilAllIsDone()
                return answer
            }
            guard case .session(nil) = answer else { throw Unexpected(answer) }
        }
    }

    /// Its client has been told INTERNAL_ERROR and has logged in again meanwhile: carried out now, it would end that session.
    @Test func aFrameThatItsClientHasGivenUpIsNotBegun() async throws {
        try await AuthBench.run(instances: 0) { bench in
            let frame = ServiceRequest(
                answer: AnswerAddress(node: bench.near, question: 8), connection: ConnectionID(value: 1), session: nil,
                body: .frame(
                    type: RegisterBegin.definition.type, payload: Array(RegisterBegin.definition.samples[0].utf8)))
            let lookup = ServiceRequest(
                answer: AnswerAddress(node: bench.near, question: 9), connection: ConnectionID(value: 1), session: nil,
                body: .session(tokenHash: Bytes32()))
            for age in [ClusterLimits.frameAgeMax.milliseconds - 5_000, ClusterLimits.frameAgeMax.milliseconds + 1] {
                bench.bus.setTime(UInt64(age) + 1)
                for request in [frame, lookup] { try await bench.bus.append(request, to: Keyspace.auth) }
                try await withThrowingTaskGroup { group in
                    group.addTask { await bench.consumer(claimIdle: AuthLimits.claimIdle).run() }
                    try await bench.untilAllIsDone()
                    group.cancelAll()
                }
            }
            let answered = bench.listener.heard.compactMap {
                if case .answer(_, let question, _) = $0 { question } else { nil }
            }
            #expect(answered.count { $0 == 8 } == 1)
            #expect(answered.count { $0 == 9 } == 2)
        }
    }

    @Test func aBurstIsAnsweredWhole() async throws {
        try await AuthBench.run(instances: 1) { bench in
            let login = try await bench.login(self.alice)
            try await withThrowingTaskGroup { group in
                for _ in 0..<5 * AuthLimits.jobsInFlightMax {
                    group.addTask { try await bench.session(login.session.tokenHash) }
                }
                for try await session in group { #expect(session == login.session) }
            }
            try await bench.untilAllIsDone()
        }
    }

    @Test func anAnswerThatCouldNotBePublishedComesLater() async throws {
        try await AuthBench.run(instances: 0) { bench in
            let bus = MuteBus(bench.bus)
            let request = ServiceRequest(
                answer: AnswerAddress(node: bench.near, question: 5), connection: ConnectionID(value: 1), session: nil,
                body: .session(tokenHash: Bytes32()))
            try await bench.bus.append(request, to: Keyspace.auth)
            await withDiscardingTaskGroup { group in
                group.addTask { await bench.consumer(on: bus, claimIdle: .zero).run() }
                await bus.untilAsked()
                group.cancelAll()
            }
            #expect(try await bench.bus.depth(of: [Keyspace.auth.name]) == [1])
            await withDiscardingTaskGroup { group in
                _ = await bench.listener.answer(to: 5) {
                    group.addTask { await bench.consumer(claimIdle: .zero).run() }
                }
                group.cancelAll()
            }
        }
    }

    @Test func aDrainFinishesWhatWasTaken() async throws {
        try await AuthBench.run(instances: 0) { bench in
            let auth = Auth(pool: bench.pool, bus: bench.bus, instance: 9, operators: bench.operators, logger: quiet)
            await withDiscardingTaskGroup { group in
                group.addTask { await auth.run() }
                for _ in 0..<20 { _ = await bench.ask(.session(tokenHash: Bytes32())) }
                await auth.drain()
                group.cancelAll()
            }
            // Everything answered is acknowledged, and nothing is taken any more.
            #expect(try await bench.bus.depth(of: [Keyspace.auth.name]) == [0])
            let late = ServiceRequest(
                answer: AnswerAddress(node: bench.near, question: 0), connection: ConnectionID(value: 1), session: nil,
                body: .session(tokenHash: Bytes32()))
            try await bench.bus.append(late, to: Keyspace.auth)
            #expect(try await bench.bus.depth(of: [Keyspace.auth.name]) == [1])
        }
    }

    @Test func theCacheDoesNotOutliveASessionThatEndsWhileItIsFilled() async throws {
        try await AuthBench.run { bench in
            let login = try await bench.login(self.alice)
            try await bench.bus.delete([Keyspace.session(login.session.tokenHash)])
            // Ends, and clears the cache, after the directory has read the session and before it caches it.
            let keys = MeddlingKeys(bench.bus) {
                _ = await bench.send("logout", AuthBench.privileged, session: login.session)
            }
            let directory = SessionDirectory(
                SessionTable(bench.pool), keys: keys, clock: bench.clock, logger: quiet)
            #expect(try await directory.read(login.session.tokenHash) == nil)
            #expect(try await bench.isCached(login.session.tokenHash) == false)
        }
    }
}
