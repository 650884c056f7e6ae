import Bus
import ClusterContract
import Contract
import Jobs
import TestKit
import Testing

@Suite(.timeLimit(.minutes(20))) struct RequestWorkerTests {
    private let bus = MemoryBus()
    private let node = NodeID(value: 4)
    private let frame = ServiceRequest.Body.frame(type: "f", payload: [])

    private func worker(claimIdle: Duration = .seconds(60)) -> RequestWorker {
        RequestWorker(
            bus: self.bus, stream: Keyspace.auth, group: "g", consumer: "one",
            bounds: .init(
                claimIdle: claimIdle, claimEvery: .milliseconds(1), takeMax: 8, takeBlockMax: .milliseconds(20),
                retryPause: .milliseconds(1)),
            slots: 8, logger: quiet)
    }

    private func ask(_ question: UInt64, _ body: ServiceRequest.Body) async throws {
        try await self.bus.append(
            ServiceRequest(
                answer: AnswerAddress(node: self.node, question: question), connection: ConnectionID(value: 1),
                session: nil, body: body), to: Keyspace.auth)
    }

    /// The questions answered until `last` was.
    private func answered(
        until last: UInt64, by worker: RequestWorker, _ reaction: @escaping @Sendable (UInt64) -> Reaction
    ) async -> [UInt64] {
        await withTaskGroup(of: Void.self) { group in
            let (answers, said) = AsyncStream.makeStream(of: UInt64.self, bufferingPolicy: .bufferingOldest(8))
            let (listening, begun) = AsyncStream.makeStream(of: Never.self, bufferingPolicy: .bufferingOldest(1))
            group.addTask {
                try? await self.bus.subscribe(to: [Keyspace.node(self.node).name]) { event in
                    if case .subscribed = event { begun.finish() }
                    guard case .notice(_, let bytes) = event, let notice = try? NodeNotice(decoding: bytes) else {
                        return
                    }
                    for case .answer(let question, _) in notice.events { said.yield(question) }
                }
            }
            for await _ in listening {}
            group.addTask { await worker.run { request, _ in reaction(request.answer.question) } }
            var heard: [UInt64] = []
            for await question in answers {
                heard.append(question)
                if question == last { break }
            }
            await worker.drain()
            group.cancelAll()
            return heard
        }
    }

    @Test func anAnsweredRequestLeavesTheStream() async throws {
        try await self.ask(1, self.frame)
        #expect(await self.answered(until: 1, by: self.worker()) { _ in .answer(.stale, then: nil) } == [1])
        #expect(try await self.bus.depth(of: [Keyspace.auth.name]) == [0])
    }

    @Test func whatIsNoRequestStopsNobody() async throws {
        try await self.bus.append([0xFF], to: Keyspace.auth.name)
        try await self.ask(1, self.frame)
        #expect(await self.answered(until: 1, by: self.worker()) { _ in .answer(.stale, then: nil) } == [1])
        #expect(try await self.bus.depth(of: [Keyspace.auth.name]) == [0])
    }

    @Test func aFrameThatIsTooOldIsNotBegunButAnotherRequestIs() async throws {
        try await self.ask(1, self.frame)
        try await self.ask(2, .session(tokenHash: Bytes32()))
        self.bus.setTime(UInt64(ClusterLimits.frameAgeMax.milliseconds) + 2)
        #expect(await self.answered(until: 2, by: self.worker()) { _ in .answer(.stale, then: nil) } == [2])
        #expect(try await self.bus.depth(of: [Keyspace.auth.name]) == [0])
    }

    @Test func whatIsPutOffStaysAndWhatNobodyWaitsForGoes() async throws {
        for question in 1...3 as ClosedRange<UInt64> { try await self.ask(question, self.frame) }
        let heard = await self.answered(until: 3, by: self.worker()) { question in
            switch question {
            case 1: .later
            case 2: .done
            default: .answer(.stale, then: nil)
            }
        }
        #expect(heard == [3])
        #expect(try await self.bus.depth(of: [Keyspace.auth.name]) == [1])
        #expect(
            await self.answered(until: 1, by: self.worker(claimIdle: .zero)) { _ in .answer(.stale, then: nil) } == [1])
        #expect(try await self.bus.depth(of: [Keyspace.auth.name]) == [0])
    }
}
