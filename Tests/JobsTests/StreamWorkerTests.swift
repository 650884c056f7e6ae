import Bus
import Contract
import Jobs
import Logging
import Synchronization
import TestKit
import Testing

@Suite(.timeLimit(.minutes(20))) struct StreamWorkerTests {
    private let bus = MemoryBus()

    private static func bounds(claimIdle: Duration = .seconds(60), takeMax: Int = 8) -> StreamConsumer.Bounds {
        .init(
            claimIdle: claimIdle, claimEvery: .milliseconds(1), takeMax: takeMax, takeBlockMax: .milliseconds(20),
            retryPause: .milliseconds(1))
    }

    private func consumer(
        _ name: String = "one", claimIdle: Duration = .seconds(60), takeMax: Int = 8, measuresAges: Bool = false,
        depth: (@Sendable (Int) -> Void)? = nil
    ) -> StreamConsumer {
        StreamConsumer(
            bus: self.bus, stream: "s", group: "g", name: name,
            bounds: Self.bounds(claimIdle: claimIdle, takeMax: takeMax), measuresAges: measuresAges, depth: depth)
    }

    private func append(_ values: ClosedRange<UInt8>) async throws {
        for value in values { try await self.bus.append([value], to: "s") }
    }

    // MARK: One consumer

    @Test func whatADeadConsumerHeldIsClaimedBeforeNewJobsAreTaken() async throws {
        try await self.append(1...2)
        _ = try await self.bus.take(from: "s", group: "g", consumer: "dead", limit: 9, blockFor: .zero)
        try await self.append(3...3)
        var consumer = self.consumer(claimIdle: .zero)
        #expect(try await consumer.next(8).map(\.bytes) == [[1], [2]])
        #expect(try await consumer.next(8).map(\.bytes) == [[3]])
    }

    @Test func aFullHandIsFollowedByAnotherClaim() async throws {
        try await self.append(1...3)
        _ = try await self.bus.take(from: "s", group: "g", consumer: "dead", limit: 9, blockFor: .zero)
        // Never again by the clock.
        var bounds = Self.bounds(claimIdle: .zero, takeMax: 2)
        bounds.claimEvery = .seconds(3_600)
        var consumer = StreamConsumer(bus: self.bus, stream: "s", group: "g", name: "one", bounds: bounds)
        for expected in [[1], [2], [3]] as [[UInt8]] {
            // One at a time: its hand is full each time.
            let claimed = try await consumer.next(1)
            #expect(claimed.map(\.bytes) == [expected])
            consumer.acknowledge(claimed.map(\.id))
        }
        #expect(try await consumer.next(1).isEmpty)
    }

    @Test func noMoreIsTakenThanThereIsRoomFor() async throws {
        try await self.append(1...9)
        var consumer = self.consumer(takeMax: 4)
        #expect(try await consumer.next(0, blockFor: .milliseconds(1)).isEmpty)
        #expect(try await consumer.next(3).count == 3)
        #expect(try await consumer.next(9).count == 4)
    }

    @Test func agesAreCountedByTheClockOfTheBus() async throws {
        try await self.append(1...1)
        self.bus.setTime(5_001)
        var consumer = self.consumer(measuresAges: true)
        let entry = try #require(try await consumer.next(1).first)
        #expect(consumer.age(of: entry.id) >= .seconds(5) && consumer.age(of: entry.id) < .seconds(60))
    }

    @Test func theDepthIsToldEvenWithoutRoom() async throws {
        try await self.append(1...3)
        let (depths, told) = AsyncStream.makeStream(of: Int.self, bufferingPolicy: .bufferingOldest(8))
        var consumer = self.consumer { told.yield($0) }
        _ = try await consumer.next(0, blockFor: .milliseconds(1))
        told.finish()
        #expect(await depths.reduce(into: []) { $0.append($1) } == [3])
    }

    // MARK: Several Jobs at a time

    @Test func noMorePartsRunThanThereAreSlots() async throws {
        try await self.append(1...20)
        let worker = StreamWorker(self.consumer(), slots: 3, logger: quiet)
        let running = Count()
        let (done, said) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingOldest(20))
        await withDiscardingTaskGroup { group in
            group.addTask {
                await worker.run { entries, _ in
                    entries
                } work: { entry in
                    running.add(1)
                    for _ in 0..<9 { await Task.yield() }
                    running.add(-1)
                    worker.consumer.acknowledge([entry.id])
                    said.yield()
                }
            }
            var left = 20
            for await _ in done {
                left -= 1
                if left == 0 { break }
            }
            await worker.drain()
        }
        #expect(running.most == 3)
        #expect(try await self.bus.depth(of: ["s"]) == [0])
    }

    @Test func aDrainWaitsForWhatIsUnderWayAndTakesNothingMore() async throws {
        try await self.append(1...1)
        let worker = StreamWorker(self.consumer(), slots: 3, logger: quiet)
        let (begun, begin) = AsyncStream.makeStream(of: Never.self, bufferingPolicy: .bufferingOldest(1))
        let (released, release) = AsyncStream.makeStream(of: Never.self, bufferingPolicy: .bufferingOldest(1))
        let drained = Count()
        await withDiscardingTaskGroup { group in
            group.addTask {
                await worker.run { entries, _ in
                    entries
                } work: { entry in
                    begin.finish()
                    for await _ in released {}
                    #expect(drained.most == 0)
                    worker.consumer.acknowledge([entry.id])
                }
            }
            for await _ in begun {}
            #expect(worker.inFlight == 1)
            group.addTask {
                await worker.drain()
                drained.add(1)
            }
            release.finish()
        }
        #expect(drained.most == 1 && worker.inFlight == 0)
        try await self.append(2...2)
        #expect(try await self.bus.depth(of: ["s"]) == [1])
        // A late drain does not wait.
        await worker.drain()
    }

    @Test func workGoesOnAfterTheBusWasAway() async throws {
        let (failed, fail) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingOldest(1))
        let worker = StreamWorker(
            self.consumer(), slots: 3, logger: Logger(label: "test") { _ in Alarm { fail.yield() } })
        let (done, said) = AsyncStream.makeStream(of: [UInt8].self, bufferingPolicy: .bufferingOldest(8))
        self.bus.goAway()
        try await withThrowingTaskGroup { group in
            group.addTask {
                await worker.run { entries, _ in
                    entries
                } work: { entry in
                    said.yield(entry.bytes)
                }
            }
            for await _ in failed { break }
            self.bus.comeBack()
            try await self.append(7...7)
            for await bytes in done {
                #expect(bytes == [7])
                break
            }
            group.cancelAll()
        }
    }
}

/// Rings for each line of a log.
private struct Alarm: LogHandler {
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.info
    let ring: @Sendable () -> Void

    init(_ ring: @escaping @Sendable () -> Void) { self.ring = ring }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { self.metadata[key] }
        set { self.metadata[key] = newValue }
    }

    func log(event: LogEvent) { self.ring() }
}

/// A number that several tasks change, and the most that it has been.
private final class Count: Sendable {
    private let state = Mutex((now: 0, most: 0))

    var most: Int { self.state.withLock { $0.most } }

    func add(_ change: Int) {
        self.state.withLock {
            $0.now += change
            $0.most = max($0.most, $0.now)
        }
    }
}

let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
