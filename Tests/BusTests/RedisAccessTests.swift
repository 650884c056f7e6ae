import Bus
import ClusterContract
import Contract
import Foundation
import LocalStack
import Logging
import NIOPosix
import RedisBus
import Telemetry
import Testing

/// The users of `deploy/redis/users.acl`, on a real server: what each service does is allowed, and what would hurt is not.
@Suite(.enabled(if: RedisServer.isExpected)) struct RedisAccessTests {
    private static let services = ["gateway", "auth", "router", "push", "attachments", "calls"]

    /// The rules without the word `user`, with passwords instead of the places for their digests.
    private static func rules() throws -> [String] {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../deploy/redis/users.acl")
        return try String(contentsOf: file.standardizedFileURL, encoding: .utf8).split(separator: "\n")
            .filter { $0.hasPrefix("user ") }
            .map { line in
                var rule = String(line.dropFirst("user ".count))
                for service in Self.services { rule = rule.replacing("#{\(service)}", with: ">secret-of-\(service)") }
                return rule
            }
    }

    private func withUsers(_ body: (RedisServer) async throws -> Void) async throws {
        try await RedisServer.run { server in
            // The default user last: with it goes the right to set others.
            let rules = try Self.rules()
            for rule in rules where !rule.hasPrefix("default ") { try await server.setUser(rule) }
            for rule in rules where rule.hasPrefix("default ") { try await server.setUser(rule) }
            try await body(server)
        }
    }

    /// A bus that is logged in as `user`.
    private func bus(_ server: RedisServer, _ user: String, password: String? = nil) -> RedisBus {
        RedisBus(
            configuration: RedisConfiguration(
                port: server.port, user: user, password: Secret(password ?? "secret-of-\(user)")),
            eventLoop: MultiThreadedEventLoopGroup.singleton.next(),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    private func expectRefused(
        _ what: String, _ body: () async throws(BusError) -> Void, sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        do throws(BusError) {
            try await body()
            Issue.record("\(what) is allowed", sourceLocation: sourceLocation)
        } catch {
            guard case .refused(let reason) = error, reason.hasPrefix("NOPERM") else {
                Issue.record("\(what): \(error)", sourceLocation: sourceLocation)
                return
            }
        }
    }

    @Test func everyServiceHasAUserAndNobodyElseComesIn() async throws {
        try await self.withUsers { server in
            for service in Self.services {
                let bus = self.bus(server, service)
                try await bus.waitUntilConnected(for: .seconds(5))
                await bus.close()
            }
            let wrong = self.bus(server, "gateway", password: "secret-of-auth")
            await #expect(throws: BusError.unavailable) { try await wrong.waitUntilConnected(for: .milliseconds(300)) }
            await wrong.close()
            let nobody = RedisBus(server)
            await #expect(throws: BusError.unavailable) { try await nobody.waitUntilConnected(for: .milliseconds(300)) }
            await nobody.close()
        }
    }

    @Test func theGatewaySpeaksToStreamsAndReadsSessions() async throws {
        try await self.withUsers { server in
            let bus = self.bus(server, "gateway")
            try await bus.waitUntilConnected(for: .seconds(5))
            for stream in [
                Keyspace.mailbox(Partition.all[0]).name, Keyspace.mailbox(Partition.all.last!).name, "auth", "groups",
                "calls:0", "live:0", "rooms:0",
            ] {
                try await bus.append([1], to: stream)
            }
            #expect(
                try await bus.depth(of: [
                    Keyspace.mailbox(Partition.all[0]).name, Keyspace.mailbox(Partition.all[1]).name,
                ]) == [1, 0])
            try await bus.set(KeyName("presence:A"), to: [1], for: .seconds(9))
            // Where a guest was, and is.
            let before = await withCheckedContinuation { continuation in
                bus.exchangeWithoutWaiting(KeyName("presence:A"), for: [1], for: .seconds(9)) {
                    continuation.resume(returning: $0)
                }
            }
            #expect(before == .success([1]))
            bus.deleteWithoutWaiting(KeyName("presence:A"), ifStill: [1])
            #expect(try await bus.get(KeyName("presence:A")) == nil)
            try await bus.set(KeyName("alive:a"), to: [1], for: .seconds(9))
            #expect(try await bus.get([KeyName("ratelimit:A:send"), KeyName("session:aa")]) == [nil, nil])
            #expect(try await bus.get([KeyName("guest:aa")]) == [nil])
            #expect(try await bus.admit(KeyName("ratelimit:A:register"), Allowance(perMinute: 6)) == nil)
            let lease = RateRequest(Allowance(perMinute: 6), uses: 2)
            #expect(try await bus.lease(KeyName("ratelimit:A:send"), lease).uses == 2)
            let ear = Ear(on: bus, channels: ["node:1", "nodes", "feed:1"])
            #expect(await ear.next() == "subscribed")
            await ear.close()

            await self.expectRefused("a gateway that wakes") { () async throws(BusError) in
                try await bus.append([1], to: "wakes")
            }
            await self.expectRefused("a gateway that makes a session") { () async throws(BusError) in
                try await bus.set(KeyName("session:aa"), to: [1], for: .seconds(9))
            }
            await self.expectRefused("a gateway that makes a guest") { () async throws(BusError) in
                try await bus.set(KeyName("guest:aa"), to: [1], for: .seconds(9))
            }
            await self.expectRefused("a gateway that reads challenges") { () async throws(BusError) in
                _ = try await bus.get(KeyName("challenge:x"))
            }
            await self.expectRefused("a gateway that reads mail") { () async throws(BusError) in
                _ = try await bus.read([(Keyspace.mailbox(Partition.all[0]).name, .start)], limit: 1, blockFor: .zero)
            }
            // To other gateways it speaks on their own channels alone.
            #expect(await bus.listeners([1], to: "feed:2") == .success(0))
            for channel in ["node:1", "nodes"] {
                let published = await bus.listeners([1], to: channel)
                #expect(published.isRefused, "a gateway publishes: \(published)")
            }
            await bus.close()
        }
    }

    @Test func authKeepsLoginsAndCannotSeeMail() async throws {
        try await self.withUsers { server in
            let bus = self.bus(server, "auth")
            try await bus.waitUntilConnected(for: .seconds(5))
            try await bus.set(KeyName("challenge:x"), to: [1], for: .seconds(9))
            #expect(try await bus.take(KeyName("challenge:x")) == [1])
            try await bus.set(KeyName("session:aa"), to: [1], for: .seconds(9))
            try await bus.delete([KeyName("session:aa")])
            try await bus.set(KeyName("guest:aa"), to: [1], for: .seconds(9))
            try await bus.delete([KeyName("guest:aa")])
            #expect(try await bus.admit(KeyName("ratelimit:A:admin"), Allowance(perMinute: 6)) == nil)
            _ = try await bus.take(from: "auth", group: "auth", consumer: "auth-1", limit: 1, blockFor: .zero)
            _ = try await bus.claim(from: "auth", group: "auth", consumer: "auth-1", idle: .seconds(1), limit: 1)
            #expect(await bus.listeners([1], to: "node:1") == .success(0))
            try await bus.append([1], to: "live:0")

            await self.expectRefused("auth reads what others say to live conversations") { () async throws(BusError) in
                _ = try await bus.read([("live:0", .start)], limit: 1, blockFor: .zero)
            }
            await self.expectRefused("auth speaks to rooms") { () async throws(BusError) in
                try await bus.append([1], to: "rooms:0")
            }
            await self.expectRefused("auth reads mail") { () async throws(BusError) in
                _ = try await bus.read([(Keyspace.mailbox(Partition.all[0]).name, .start)], limit: 1, blockFor: .zero)
            }
            await self.expectRefused("auth writes mail") { () async throws(BusError) in
                try await bus.append([1], to: Keyspace.mailbox(Partition.all[0]).name)
            }
            #expect(try await bus.get([KeyName("alive:a")]) == [nil])
            await self.expectRefused("auth says that a gateway lives") { () async throws(BusError) in
                try await bus.set(KeyName("alive:a"), to: [1], for: .seconds(9))
            }
            await self.expectRefused("auth forges presence") { () async throws(BusError) in
                try await bus.set(KeyName("presence:A"), to: [1], for: .seconds(9))
            }
            await bus.close()
        }
    }

    @Test func aRouterKnowsNoSession() async throws {
        try await self.withUsers { server in
            let bus = self.bus(server, "router")
            try await bus.waitUntilConnected(for: .seconds(5))
            try await bus.append([1], to: Keyspace.mailbox(Partition.all[0]).name)
            #expect(
                try await bus.read([(Keyspace.mailbox(Partition.all[0]).name, .start)], limit: 1, blockFor: .seconds(1))
                    .count == 1)
            bus.trim(Keyspace.mailbox(Partition.all[0]).name, through: EntryID(milliseconds: .max - 1, sequence: 0))
            #expect(
                try await bus.read([(Keyspace.mailbox(Partition.all[0]).name, .start)], limit: 1, blockFor: .zero)
                    .isEmpty)
            _ = try await bus.take(from: "groups", group: "router", consumer: "router-1", limit: 1, blockFor: .zero)
            try await bus.append([1], to: "wakes")
            try await bus.set(KeyName("canary:1"), to: [1], for: .seconds(9))

            await self.expectRefused("a router that reads sessions") { () async throws(BusError) in
                _ = try await bus.get(KeyName("session:aa"))
            }
            await self.expectRefused("a router that forges presence") { () async throws(BusError) in
                try await bus.set(KeyName("presence:A"), to: [1], for: .seconds(9))
            }
            await bus.close()
        }
    }

    @Test func pushAndAttachmentsSeeLittle() async throws {
        try await self.withUsers { server in
            let push = self.bus(server, "push")
            try await push.waitUntilConnected(for: .seconds(5))
            for stream in ["wakes", "wakes:calls"] {
                _ = try await push.take(from: stream, group: "push", consumer: "push-1", limit: 1, blockFor: .zero)
            }
            #expect(try await push.depth(of: ["wakes", "wakes:calls"]) == [0, 0])
            try await push.append([1], to: "rejected-tokens")
            try await push.set(KeyName("callwake:x"), to: [1], for: .seconds(9))
            #expect(
                try await push.get([KeyName("callwake:x"), KeyName("presence:A"), KeyName("alive:a")]) == [
                    [1], nil, nil,
                ])
            await self.expectRefused("push reads mail") { () async throws(BusError) in
                _ = try await push.read([(Keyspace.mailbox(Partition.all[0]).name, .start)], limit: 1, blockFor: .zero)
            }
            await self.expectRefused("push reads sessions") { () async throws(BusError) in
                _ = try await push.get(KeyName("session:aa"))
            }
            await push.close()

            let attachments = self.bus(server, "attachments")
            try await attachments.waitUntilConnected(for: .seconds(5))
            #expect(try await attachments.admit(KeyName("ratelimit:A:upload"), Allowance(perMinute: 6)) == nil)
            await self.expectRefused("attachments reads sessions") { () async throws(BusError) in
                _ = try await attachments.get(KeyName("session:aa"))
            }
            let published = await attachments.listeners([1], to: "nodes")
            #expect(published.isRefused, "attachments publishes: \(published)")
            await attachments.close()
        }
    }

    @Test func callsOwnsItsSharesAndNoMailbox() async throws {
        try await self.withUsers { server in
            let bus = self.bus(server, "calls")
            try await bus.waitUntilConnected(for: .seconds(5))
            for stream in ["calls:0", "live:0", "rooms:0"] {
                #expect(try await bus.read([(stream, .start)], limit: 1, blockFor: .zero).isEmpty)
                bus.trim(stream, through: EntryID(milliseconds: 1, sequence: 0))
            }
            try await bus.append([1], to: "rooms:0")
            for key in ["call:x", "engaged:0:A", "canary:1"] {
                try await bus.set(KeyName(key), to: [1], for: .seconds(9))
            }
            try await bus.delete([KeyName("call:x"), KeyName("engaged:0:A")])
            try await bus.append([1], to: "wakes:calls")
            #expect(await bus.listeners([1], to: "node:1") == .success(0))
            await self.expectRefused("calls reads mail") { () async throws(BusError) in
                _ = try await bus.read([(Keyspace.mailbox(Partition.all[0]).name, .start)], limit: 1, blockFor: .zero)
            }
            await self.expectRefused("calls wakes for mail") { () async throws(BusError) in
                try await bus.append([1], to: "wakes")
            }
            await self.expectRefused("calls forges presence") { () async throws(BusError) in
                try await bus.set(KeyName("presence:A"), to: [1], for: .seconds(9))
            }
            await bus.close()
        }
    }

    /// Commands that no service sends, and that would do the most harm: on the raw wire, as each user.
    @Test(arguments: services)
    func nobodyMayLookAroundOrEmpty(service: String) async throws {
        try await self.withUsers { server in
            for command in [
                "FLUSHALL", "KEYS *", "SCAN 0", "CONFIG GET *", "MONITOR", "SHUTDOWN", "ACL LIST", "CLIENT LIST",
            ] {
                let answer = await server.answer(to: "AUTH \(service) secret-of-\(service)\r\n\(command)\r\n", lines: 2)
                #expect(answer?.hasPrefix("+OK\r\n-NOPERM") == true, "\(command): \(answer ?? "nothing")")
            }
        }
    }
}

extension Result where Success == Int, Failure == BusError {
    fileprivate var isRefused: Bool {
        if case .failure(.refused(let reason)) = self { reason.hasPrefix("NOPERM") } else { false }
    }
}
