import Bus
import LocalStack
import Synchronization
import Testing

/// Every bus's promises about Notices.
@Suite struct NoticeBusTests {
    @Test(arguments: BusKind.present)
    func aNoticeIsHeardByWhoeverListens(kind: BusKind) async throws {
        try await kind.run { test in
            let ear = Ear(on: test.bus, channels: ["c", "d"])
            #expect(await ear.next() == "subscribed")
            let listeners = await test.bus.listeners(bytes("1"), to: "c")
            #expect(listeners == .success(1))
            test.bus.publish(bytes("2"), to: "d", heard: nil)
            // In a cluster that is no proof until listeners have had time to come.
            try await waitUntil("nobody listens", within: .seconds(20)) {
                await test.bus.listeners(bytes("3"), to: "e") == .success(0)
            }
            #expect(await ear.next() == "c 1")
            #expect(await ear.next() == "d 2")
            await ear.close()
            // Redis hears of it when the socket closes.
            try await waitUntil("nobody listens", within: .seconds(20)) {
                await test.bus.listeners(bytes("4"), to: "c") == .success(0)
            }
        }
    }
}

extension NoticeBus {
    func listeners(_ bytes: [UInt8], to channel: String) async -> Result<Int, BusError> {
        await withCheckedContinuation { continuation in
            self.publish(bytes, to: channel) { continuation.resume(returning: $0) }
        }
    }
}

/// Subscribes in a task of its own and hands out the events one by one, as text.
final class Ear: Sendable {
    private let subscription: Task<Void, any Error>
    private let events: AsyncStream<String>

    init(on bus: any Bus, channels: [String]) {
        let (events, continuation) = AsyncStream.makeStream(of: String.self, bufferingPolicy: .bufferingNewest(1_000))
        self.events = events
        // Ends with `close`: a test is its parent.
        self.subscription = Task {
            try await bus.subscribe(to: channels) { event in
                switch event {
                case .subscribed: continuation.yield("subscribed")
                case .subscriptionLost: continuation.yield("subscription lost")
                case .notice(let channel, let bytes):
                    continuation.yield("\(channel) \(String(decoding: bytes, as: UTF8.self))")
                }
            }
            continuation.finish()
        }
    }

    func next() async -> String? {
        var iterator = self.events.makeAsyncIterator()
        return await iterator.next()
    }

    func close() async {
        self.subscription.cancel()
        _ = try? await self.subscription.value
    }
}
