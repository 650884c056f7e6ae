import Bus
import ClusterContract
import Contract
import LocalStack
import Logging
import Store
import Telemetry
import Synchronization
import TestKit

@testable import PushCore

let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

/// Push on a bus in memory and a real Postgres, with what it is granted and no more. Auth's tokens and the router's mail are
/// tables of the test's own.
final class PushBench: Sendable {
    let database: TestDatabase
    let pool: PostgresPool
    let bus = MemoryBus()

    private init(_ database: TestDatabase, _ pool: PostgresPool) {
        self.database = database
        self.pool = pool
    }

    /// - Parameter alone: in a Postgres of its own, which may be killed.
    static func with(alone: Bool = false, _ body: (PushBench) async throws -> Void) async throws {
        try await TestDatabase.with("push", alone: alone, prepare: self.migrate) { database in
            let pool = PostgresPool(
                PostgresConfiguration(url: database.url(user: "whisper_push"), applicationName: "push"), connections: 4,
                logger: quiet)
            try await body(PushBench(database, pool))
            pool.close()
        }
    }

    private static func migrate(_ database: TestDatabase) async throws {
        try await database.run(
            """
            CREATE SCHEMA auth;
            CREATE TABLE auth.push_tokens
                (whisper_id bigint PRIMARY KEY, platform text, push_token text, voip_token text, wake_secret bytea,
                is_shared boolean NOT NULL DEFAULT false);
            CREATE SCHEMA router;
            CREATE TABLE router.waiting (recipient bigint, accepted_at timestamptz);
            """)
        try await PushService.migrator.run(
            PostgresConfiguration(url: database.url(), applicationName: "migrate"), logger: quiet)
        try await database.run(
            """
            ALTER ROLE whisper_push LOGIN;
            GRANT USAGE ON SCHEMA auth, router TO whisper_push;
            -- Everybody of a test has a token, or mail.
            CREATE VIEW auth.mail_identities AS
                SELECT whisper_id FROM auth.push_tokens UNION ALL SELECT recipient FROM router.waiting;
            GRANT SELECT ON auth.push_tokens, auth.mail_identities, router.waiting TO whisper_push;
            """)
    }

    /// Runs one instance of push while `body` does. It is drained at the end, or just cut off.
    func running(
        _ provider: any PushProvider, scale: Double = 1, claimIdle: Duration = PushLimits.claimIdle,
        drains: Bool = true,
        _ body: () async throws -> Void
    ) async throws {
        let push = PushService(
            instance: 1, bus: self.bus, pool: self.pool, providers: PushProviders(standIn: provider),
            schedule: PushSchedule(scale: scale, claimIdle: claimIdle), logger: quiet)
        try await withThrowingTaskGroup { group in
            group.addTask { await push.mail.run() }
            group.addTask { await push.calls.run() }
            group.addTask { await push.reminders.run() }
            try await body()
            if drains {
                await push.mail.drain()
                await push.calls.drain()
            }
            group.cancelAll()
        }
    }

    // MARK: Script

    func device(
        _ id: WhisperID, platform: String = "ios", push: String? = "aa", voip: String? = nil,
        secret: WakeSecret? = nil, isShared: Bool = false
    ) async throws {
        let bytes = secret.map { #"\x"# + Hexadecimal.text($0.bytes) }
        let quoted = [push, voip, bytes].map { $0.map { "'\($0)'" } ?? "NULL" }.joined(separator: ", ")
        try await self.database.run(
            """
            INSERT INTO auth.push_tokens VALUES (\(id.bits), '\(platform)', \(quoted), \(isShared))
            ON CONFLICT DO NOTHING
            """)
    }

    func mail(for id: WhisperID) async throws {
        try await self.database.run("INSERT INTO router.waiting VALUES (\(id.bits), now())")
    }

    func mailIsRead(by id: WhisperID) async throws {
        try await self.database.run("DELETE FROM router.waiting WHERE recipient = \(id.bits)")
    }

    /// The identity has a connection at the bench's gateway, which lives.
    func appear(_ id: WhisperID) async throws {
        let presence = Presence(node: Self.gateway, connection: ConnectionID(value: 1), epoch: Epoch(value: 1))
        try await self.bus.set(Keyspace.presence(id), to: presence.encoded(), for: .seconds(60))
        try await self.bus.set(Keyspace.alive(Self.gateway), to: [1], for: .seconds(60))
    }

    /// Its presence keys stay for a while.
    func gatewayDies() async throws { try await self.bus.delete([Keyspace.alive(Self.gateway)]) }

    private static let gateway = NodeID(value: 7)

    @discardableResult
    func wake(_ id: WhisperID) async throws -> UUIDText {
        let wake = Wake(recipient: id, reason: .message, wakeID: .random(), queuedAt: .now)
        try await self.bus.append(wake, to: Keyspace.wakes)
        return wake.wakeID
    }

    func call(_ id: WhisperID, _ reason: Wake.Reason, _ wakeID: UUIDText) async throws {
        try await self.bus.append(
            Wake(recipient: id, reason: reason, wakeID: wakeID, queuedAt: .now), to: Keyspace.callWakes)
    }

    func sql(_ text: String) async throws -> String { try await self.database.run(text) }

    func depth() async throws -> [Int] {
        try await self.bus.depth(of: [Keyspace.wakes.name, Keyspace.callWakes.name])
    }
}

/// Remembers what it was asked to send, and answers as it is told.
final class ScriptedProvider: PushProvider {
    struct Sent: Equatable, Sendable {
        var push: Push
        var token: String
        var isVoIP: Bool
    }

    let name = PushProviderName.apns
    private let seen = Mutex<[Sent]>([])
    private let answer: @Sendable (Int, Push) async -> PushAnswer

    /// - Parameter answer: to the n-th push, from 1.
    init(_ answer: @escaping @Sendable (Int, Push) async -> PushAnswer = { _, _ in .sent }) { self.answer = answer }

    var sent: [Sent] { self.seen.withLock { $0 } }
    var kinds: [Push.Kind] { self.sent.map(\.push.kind) }

    func send(_ push: Push, to token: String, isVoIP: Bool) async -> PushAnswer {
        let number = self.seen.withLock {
            $0.append(Sent(push: push, token: token, isVoIP: isVoIP))
            return $0.count
        }
        return await self.answer(number, push)
    }

    func wait(for count: Int, within timeout: Duration = .seconds(20)) async throws {
        try await waitUntil("\(count) pushes", within: timeout) { self.sent.count >= count }
    }
}
