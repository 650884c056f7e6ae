import Bus
import ClusterContract
import Contract
import RouterCore
import Store
import TestKit
import Testing

@Suite(.serialized) struct GroupConsumerTests {
    private let alice = person(1), bob = person(2)

    @Test func aQuestionOfADeadRouterIsAnsweredByAnother() async throws {
        try await GroupBench.run { bench in
            let request = bench.request("group_create", createJSON("Hiking", [bob]), by: alice, question: 5)
            try await bench.bus.append(request, to: Keyspace.groups)
            // It was done, and its router died before it could say so.
            let taken = try await bench.bus.take(
                from: Keyspace.groups.name, group: GroupConsumer.group, consumer: "router-1", limit: 1, blockFor: .zero)
            let done = await bench.service.handle(try ServiceRequest(decoding: taken[0].bytes)).answer

            let answer = await withThrowingTaskGroup { group in
                let (answers, said) = AsyncStream.makeStream(of: Answer.self, bufferingPolicy: .bufferingOldest(8))
                let (listening, begun) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingOldest(1))
                group.addTask {
                    try await bench.bus.subscribe(to: [Keyspace.node(request.answer.node).name]) { event in
                        if case .subscribed = event { begun.yield() }
                        guard case .notice(_, let bytes) = event, let notice = try? NodeNotice(decoding: bytes) else {
                            return
                        }
                        for case .answer(5, let answer) in notice.events { said.yield(answer) }
                    }
                }
                for await _ in listening { break }
                let consumer = GroupConsumer(
                    bus: bench.bus, service: bench.service, instance: 2, claimIdle: .zero, logger: quiet)
                group.addTask { await consumer.run() }
                var first: Answer?
                for await answer in answers {
                    first = answer
                    break
                }
                await consumer.drain()
                group.cancelAll()
                return first
            }
            #expect(try answer?.event().group.id == done.event().group.id)
            #expect(answer?.number == done.number)
            #expect(try await bench.bus.depth(of: [Keyspace.groups.name]) == [0])
            #expect(try await bench.sql("SELECT count(*) FROM router.groups") == "1")
        }
    }
}
