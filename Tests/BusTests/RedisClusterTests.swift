import Bus
import ClusterContract
import Contract
import LocalStack
import RedisBus
import Synchronization
import TestKit
import Testing

/// Promises of a bus on a Redis Cluster when masters come and go. Six real nodes.
@Suite(.enabled(if: RedisServer.isExpected), .timeLimit(.minutes(20))) struct RedisClusterTests {
    private static let patience = Duration.seconds(60)

    /// Two streams at different masters.
    private func streams(in cluster: RedisClusterServers) async throws -> (one: String, other: String) {
        let first = try await cluster.master(of: "s0")
        for number in 1... where try await cluster.master(of: "s\(number)").port != first.port {
            return ("s0", "s\(number)")
        }
        preconditionFailure()
    }

    private func append(_ text: String, to stream: String, on bus: RedisBus) async throws {
        try await waitUntil("\(stream) takes a Job", within: Self.patience) {
            do {
                try await bus.append(bytes(text), to: stream)
                return true
            } catch BusError.unavailable {
                return false
            }
        }
    }

    /// A replica takes the place of a master that is killed. Users of another master notice nothing.
    @Test func aLostMasterIsReplacedAndTheOthersGoOn() async throws {
        try await RedisClusterServers.run { cluster in
            let bus = RedisBus(cluster)
            try await bus.waitUntilConnected(for: Self.patience)
            let (one, other) = try await self.streams(in: cluster)
            let ear = Ear(on: bus, channels: [one])
            #expect(await ear.next() == "subscribed")
            let canary = Canary(NodeID(value: 7))
            #expect(try await canary.look(bus).isEmpty)
            try await bus.append(bytes("1"), to: one)
            #expect(bus.replacements.total == 0)

            // One Job after the other, each written once, while the other master is killed.
            let isOver = Atomic(false)
            async let written: Int = {
                var count = 0
                while !isOver.load(ordering: .acquiring) {
                    try await bus.append(bytes("\(count)"), to: other)
                    count += 1
                    try await bus.pause(for: .milliseconds(5))
                }
                return count
            }()
            // A read that waits at both hears of the stream that is served.
            let after = try await bus.read([(other, .start)], limit: 1, blockFor: Self.patience)[0].entries[0].id
            let victim = try await cluster.master(of: one)
            await victim.kill()
            let read = try await bus.read([(one, .start), (other, after)], limit: 1, blockFor: Self.patience)
            #expect(read.map(\.stream).contains(other))

            try await self.append("2", to: one, on: bus)
            isOver.store(true, ordering: .releasing)
            let count = try await written
            let all = try await bus.read([(other, .start)], limit: count + 1, blockFor: .zero)
            #expect(all.flatMap(\.entries.texts) == (0..<count).map { "\($0)" })

            // Data that the lost master had acknowledged is asked for again.
            #expect(bus.replacements.count(of: one) > 0)
            #expect(bus.replacements.count(of: other) == 0)
            let losses = try await canary.look(bus)
            #expect(losses.includes(one) && !losses.includes(other) && !losses.isEverything)
            #expect(try await canary.look(bus).isEmpty)
            let rest = try await bus.read([(one, .start)], limit: 10, blockFor: Self.patience)
            #expect(rest.flatMap(\.entries.texts).last == "2")
            #expect(await ear.next() == "subscription lost")
            #expect(await ear.next() == "subscribed")
            bus.publish(bytes("heard"), to: one, heard: nil)
            #expect(await ear.next() == "\(one) heard")
            await ear.close()
            await bus.close()
        }
    }

    /// A master that is stopped for longer than the others wait comes back as a replica.
    @Test func aFrozenMasterIsReplaced() async throws {
        try await RedisClusterServers.run { cluster in
            let bus = RedisBus(cluster)
            try await bus.waitUntilConnected(for: Self.patience)
            let frozen = try await cluster.master(of: "s")
            try await bus.append(bytes("1"), to: "s")
            await frozen.signal(.pause)
            try await self.append("2", to: "s", on: bus)
            await frozen.signal(.resume)
            try await cluster.untilWhole()
            try await self.append("3", to: "s", on: bus)
            let texts = try await bus.read([("s", .start)], limit: 100, blockFor: Self.patience).flatMap(
                \.entries.texts)
            #expect(texts.last == "3" && texts.contains("2"))
            #expect(try await cluster.master(of: "s").port != frozen.port)
            await bus.close()
        }
    }

    /// A slot that moves costs a moment. A Job that fails was not written, and is written once when it is tried again.
    @Test func aStreamThatMovesIsFoundAgain() async throws {
        try await RedisClusterServers.run { cluster in
            let bus = RedisBus(cluster)
            try await bus.waitUntilConnected(for: Self.patience)
            let ear = Ear(on: bus, channels: ["s"])
            #expect(await ear.next() == "subscribed")
            for number in 0..<20 {
                if number == 10 { try await cluster.move("s") }
                try await self.append("\(number)", to: "s", on: bus)
            }
            let texts = try await bus.read([("s", .start)], limit: 100, blockFor: Self.patience).flatMap(
                \.entries.texts)
            #expect(texts == (0..<20).map { "\($0)" })
            #expect(await ear.next() == "subscription lost")
            #expect(await ear.next() == "subscribed")
            #expect(bus.replacements.count(of: "s") > 0)
            #expect(bus.replacements.count(of: "another") == 0)
            await ear.close()
            await bus.close()
        }
    }

    @Test func keysOfManyMastersAreAskedForTogether() async throws {
        try await RedisClusterServers.run { cluster in
            let bus = RedisBus(cluster)
            try await bus.waitUntilConnected(for: Self.patience)
            let keys = (0..<64).map { KeyName("k\($0)") }
            for (number, key) in keys.enumerated() where number % 3 > 0 {
                try await bus.set(key, to: bytes("\(number)"), for: .seconds(100))
            }
            let expected = keys.indices.map { $0 % 3 > 0 ? bytes("\($0)") : nil }
            #expect(try await bus.get(keys) == expected)
            let heard = await withCheckedContinuation { continuation in
                bus.getWithoutWaiting(keys) { continuation.resume(returning: $0) }
            }
            #expect(heard == .success(expected))
            try await bus.delete(keys)
            #expect(try await bus.get(keys) == keys.map { _ in nil })
            await bus.close()
        }
    }
}
