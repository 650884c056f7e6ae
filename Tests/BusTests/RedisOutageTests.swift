import Bus
import ClusterContract
import Contract
import RedisBus
import Synchronization
import Telemetry
import Testing

@testable import LocalStack

/// `RedisBus` while the server dies, freezes, returns or refuses.
@Suite(.enabled(if: RedisServer.isExpected)) struct RedisOutageTests {
    @Test func aSubscriberHearsOfTheGapAndSubscribesAgain() async throws {
        try await RedisServer.run { server in
            let bus = RedisBus(server)
            let events = ConnectionEvents(of: bus)
            #expect(await events.next() == .connected(isReconnect: false))
            let ear = Ear(on: bus, channels: ["c"])
            #expect(await ear.next() == "subscribed")
            bus.publish(bytes("before"), to: "c", heard: nil)
            #expect(await ear.next() == "c before")

            await server.kill()
            #expect(await ear.next() == "subscription lost")
            #expect(await events.next() == .lost)
            #expect(!bus.isConnected)
            try await server.start()
            #expect(await ear.next() == "subscribed")
            #expect(await events.next() == .connected(isReconnect: true))
            #expect(await bus.listeners(bytes("after"), to: "c") == .success(1))
            #expect(await ear.next() == "c after")
            await ear.close()
            await bus.close()
        }
    }

    @Test func commandsUnderWayFailOnceWhenTheServerDies() async throws {
        try await RedisServer.run { server in
            let bus = RedisBus(server)
            try await bus.waitUntilConnected(for: .seconds(5))
            let failures = Failures(count: 100)
            await server.signal(.pause)
            for index in 0..<100 { bus.append(bytes("x"), to: "s") { failures.record(index, $0) } }
            async let answer = Result { () async throws(BusError) in try await bus.get(KeyName("k")) }
            async let read = Result { () async throws(BusError) in
                try await bus.read([("s", .start)], limit: 1, blockFor: .seconds(60)).count
            }
            await server.kill()
            #expect(await answer == .failure(.unavailable))
            #expect(await read == .failure(.unavailable))
            #expect(failures.all == Array(repeating: [.unavailable], count: 100))
            await #expect(throws: BusError.unavailable) { try await bus.append(bytes("y"), to: "s") }
            #expect(await bus.listeners([], to: "c") == .failure(.unavailable))
            await bus.close()
        }
    }

    @Test(.timeLimit(.minutes(20))) func aFrozenServerIsNoticedAndItsReturnToo() async throws {
        try await RedisServer.run { server in
            let bus = RedisBus(server)
            let events = ConnectionEvents(of: bus)
            #expect(await events.next() == .connected(isReconnect: false))
            await server.signal(.pause)
            await #expect(throws: BusError.unavailable) { try await bus.append(bytes("x"), to: "s") }
            #expect(await events.next() == .lost)
            await server.signal(.resume)
            #expect(await events.next() == .connected(isReconnect: true))
            try await bus.append(bytes("x"), to: "s")
            await bus.close()
        }
    }

    @Test func readersComeBackAfterARestart() async throws {
        try await RedisServer.run { server in
            let bus = RedisBus(server)
            try await bus.waitUntilConnected(for: .seconds(5))
            _ = try await bus.take(from: "s", group: "g", consumer: "one", limit: 1, blockFor: .milliseconds(1))
            try await server.restart()
            try await bus.waitUntilConnected(for: .seconds(5))
            try await bus.append(bytes("x"), to: "s")
            let taken = try await bus.take(from: "s", group: "g", consumer: "one", limit: 1, blockFor: .seconds(5))
            #expect(taken.texts == ["x"])
            await bus.close()
        }
    }

    @Test func aPasswordIsSentOnEveryConnection() async throws {
        try await RedisServer.run { server in
            let answer = await LoopbackRequest.answer(from: server.port, to: "CONFIG SET requirepass sesame\r\n") {
                $0.hasSuffix("\r\n")
            }
            #expect(answer == "+OK\r\n")

            let stranger = RedisBus(server)
            await #expect(throws: BusError.unavailable) {
                try await stranger.waitUntilConnected(for: .milliseconds(200))
            }
            await stranger.close()

            let bus = RedisBus(server, password: Secret("sesame"))
            try await bus.waitUntilConnected(for: .seconds(5))
            try await bus.append(bytes("x"), to: "s")
            #expect(try await bus.read([("s", .start)], limit: 1, blockFor: .seconds(5)).count == 1)
            let ear = Ear(on: bus, channels: ["c"])
            #expect(await ear.next() == "subscribed")
            await ear.close()
            await bus.close()
        }
    }

    @Test func aClosedBusFailsEverything() async throws {
        try await RedisServer.run { server in
            let bus = RedisBus(server)
            try await bus.waitUntilConnected(for: .seconds(5))
            async let read = Result { () async throws(BusError) in
                try await bus.read([("s", .start)], limit: 1, blockFor: .seconds(60)).count
            }
            async let subscription = Result { () async throws(BusError) in try await bus.subscribe(to: ["c"]) { _ in } }
            try await bus.append(bytes("x"), to: "other")
            await bus.close()
            #expect(await read == .failure(.unavailable))
            #expect(await subscription.isUnavailable)
            await #expect(throws: BusError.unavailable) { try await bus.append(bytes("x"), to: "s") }
            #expect(!bus.isConnected)
        }
    }
}

extension Result where Failure == BusError {
    init(_ body: () async throws(BusError) -> Success) async {
        do throws(BusError) { self = .success(try await body()) } catch { self = .failure(error) }
    }

    var isUnavailable: Bool {
        if case .failure(.unavailable) = self { true } else { false }
    }
}

/// Errors that each of several commands got.
private final class Failures: Sendable {
    private let told: Mutex<[[BusError]]>

    init(count: Int) {
        self.told = Mutex(Array(repeating: [], count: count))
    }

    func record(_ index: Int, _ error: BusError) { self.told.withLock { $0[index].append(error) } }
    var all: [[BusError]] { self.told.withLock { $0 } }
}

/// Hands out the events of the command connection one by one.
private final class ConnectionEvents: Sendable {
    private let events: AsyncStream<RedisConnectionEvent>

    init(of bus: RedisBus) {
        let (events, continuation) = AsyncStream.makeStream(
            of: RedisConnectionEvent.self, bufferingPolicy: .bufferingNewest(100))
        self.events = events
        bus.onConnectionEvent { continuation.yield($0) }
    }

    func next() async -> RedisConnectionEvent? {
        var iterator = self.events.makeAsyncIterator()
        return await iterator.next()
    }
}
