import Bus
import Contract
import Logging
import Synchronization
import TestKit
import Testing

@testable import PushCore

@Suite(.timeLimit(.minutes(1))) struct PushServiceTests {
    /// Remembers what it was asked to send, and refuses if it is told to.
    private final class Provider: PushProvider {
        let name = "test"
        private let refuses: Bool
        private let seen = Mutex<[Wakeup]>([])
        private let asked: AsyncStream<Void>
        private let ask: AsyncStream<Void>.Continuation

        init(refuses: Bool = false) {
            self.refuses = refuses
            (self.asked, self.ask) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(64))
        }

        var wakeups: [Wakeup] { self.seen.withLock { $0 } }

        func send(_ wakeup: Wakeup) async throws(PushError) {
            self.seen.withLock { $0.append(wakeup) }
            self.ask.yield()
            if self.refuses { throw .unavailable }
        }

        /// Returns when `count` wake-ups have been asked for.
        func waitForAsked(_ count: Int) async {
            var left = count
            for await _ in self.asked {
                left -= 1
                if left == 0 { return }
            }
        }
    }

    private let bus = MemoryBus()
    private let stream = Keyspace.wakes.name

    private func append(_ recipient: UInt64) async throws {
        let wake = Wake(
            recipient: WhisperID(bits: recipient)!, reason: .message, wakeID: .random(),
            queuedAt: Timestamp(milliseconds: 1))
        try await self.bus.append(wake, to: Keyspace.wakes)
    }

    private func service(_ provider: Provider, claimIdle: Duration = PushLimits.claimIdle) -> PushService {
        PushService(
            consumer: "b", bus: self.bus, provider: provider,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, claimIdle: claimIdle)
    }

    @Test func jobsAreSentCoalescedAndEndedByADrain() async throws {
        let provider = Provider()
        let service = self.service(provider)
        for recipient: UInt64 in [1, 1, 1, 2] { try await self.append(recipient) }
        async let running: Void = service.run()
        await provider.waitForAsked(2)
        await service.drain()
        await running
        #expect(provider.wakeups.map(\.jobs.count) .sorted() == [1, 1, 2])
        #expect(try await self.bus.depth(of: [self.stream]) == [0])
    }

    @Test func jobsWhosePushFailedAreNotEnded() async throws {
        let provider = Provider(refuses: true)
        let service = self.service(provider)
        try await self.append(1)
        async let running: Void = service.run()
        await provider.waitForAsked(1)
        await service.drain()
        await running
        #expect(try await self.bus.depth(of: [self.stream]) == [1])
    }

    @Test func jobsOfADeadConsumerAreTakenOver() async throws {
        try await self.append(1)
        let held = try await self.bus.take(from: self.stream, group: "push", consumer: "a", limit: 1, patience: .zero)
        #expect(held.count == 1)
        let provider = Provider()
        let service = self.service(provider, claimIdle: .zero)
        async let running: Void = service.run()
        await provider.waitForAsked(1)
        await service.drain()
        await running
        #expect(provider.wakeups.map(\.jobs) == [held.map(\.id)])
        #expect(try await self.bus.depth(of: [self.stream]) == [0])
    }

    @Test func aJobThatCannotBeReadIsDropped() async throws {
        try await self.bus.append([1, 2, 3], to: self.stream)
        try await self.append(1)
        let provider = Provider()
        let service = self.service(provider)
        async let running: Void = service.run()
        await provider.waitForAsked(1)
        await service.drain()
        await running
        #expect(try await self.bus.depth(of: [self.stream]) == [0])
    }

    @Test func aBusThatComesBackIsReadAgain() async throws {
        self.bus.goAway()
        let provider = Provider()
        let service = self.service(provider)
        async let running: Void = service.run()
        self.bus.comeBack()
        try await self.append(1)
        await provider.waitForAsked(1)
        await service.drain()
        await running
        #expect(provider.wakeups.count == 1)
    }
}
