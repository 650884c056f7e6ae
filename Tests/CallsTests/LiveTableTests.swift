@testable import ConversationsCore
import CallsCore
import ClusterContract
import Contract
import Participants
import LocalStack
import Logging
import Store
import TestKit
import Testing

@testable import Jobs

/// Conversations in a real Postgres, read with the rights that the migrations granted and no more.
@Suite struct LiveTableTests {
    static let quiet = Logger(label: "calls-tests", factory: { _ in SwiftLogNoOpLogHandler() })

    @Test func whatIsWrittenComesBackWhole() async throws {
        var (bench, listener) = try LiveBench.joined()
        let (waiting, blocked) = (LiveBench.Listener(10), LiveBench.Device(11))
        _ = try bench.send("live_knock", bench.knock(waiting), as: waiting)
        let refuse = bench.refuse(.guest(listener.id), "removed")
        _ = try bench.send("live_start", bench.named.with(["contentId": newUUID()]), as: bench.phone)
        let begun = bench.conversation
        _ = try bench.send("live_refuse", refuse, as: bench.phone)
        var conversation = bench.conversation
        conversation.listeners[.identity(blocked.id)] = conversation.listeners[.guest(waiting.id)]
        conversation.listeners[.identity(blocked.id)]?.status = .blocked
        conversation.listeners[.identity(blocked.id)]?.knock?.from = .identity(blocked.id)
        let stored = conversation
        try await Self.run { connection in
            func write(_ before: LiveMachine?, _ after: LiveMachine?) async throws {
                var pipeline = Pipeline()
                pipeline.add(LiveTable.write([.init(before: before, after: after)]))
                _ = try await connection.pipeline(pipeline)
            }
            func load() async throws -> LiveMachine? { try await LiveTable.load([stored.id], on: connection).first }
            try await write(nil, begun)
            #expect(try await load() == Self.kept(begun))
            try await write(begun, stored)
            #expect(try await load() == Self.kept(stored))
            let shares = [LiveShare(of: stored.id)]
            #expect(try await connection.query(LiveTable.active(in: shares)) == [stored.id])
            let lists = try await connection.query(LiveTable.lists(of: [stored.profile]))
            #expect(lists[stored.profile]?.map(\.json) == [stored.frame.json])
            let held = try await connection.query(LiveTable.held(by: [bench.phone.connection]))
            #expect(held == [bench.phone.connection: 1])

            // The stream ends: its contentId is known for good, and nothing else is held.
            var ended = stored
            ended.stream = nil
            for id in ended.listeners.keys { ended.listeners[id] = nil }
            try await write(stored, ended)
            #expect(try await load() == Self.kept(ended))
            let content = LiveFacts.Content(
                conversation: stored.id, content: try #require(stored.stream?.content))
            #expect(try await connection.query(LiveTable.ended([content])) == [content])
            #expect(try await connection.query(LiveTable.active(in: shares)).isEmpty)
            let look = try #require(try await connection.query(LiveTable.look(stored.id)))
            #expect(look.state == .idle && look.linkVerifier == stored.linkVerifier && look.nonce == stored.info.nonce)
            try await write(ended, nil)
            #expect(try await load() == nil)
            #expect(try await connection.query(LiveTable.look(stored.id)) == nil)
        }
    }

    /// It costs no new owner anything, and ends without being in anybody's memory (contract §13b).
    @Test func aPausedStreamIsCountedAndFoundWhenItEnds() async throws {
        var bench = try LiveBench.created()
        _ = try bench.send("live_start", bench.named.with(["contentId": newUUID()]), as: bench.phone)
        let live = bench.conversation
        var paused = live
        paused.stream?.phase = .paused
        let (phone, stored) = (bench.phone.id, paused)
        try await Self.run { connection in
            func write(_ before: LiveMachine?, _ after: LiveMachine?) async throws {
                var pipeline = Pipeline()
                pipeline.add([LiveTable.lockStreams(of: [phone], in: [live.profile])])
                pipeline.add(LiveTable.write([.init(before: before, after: after)]))
                _ = try await connection.pipeline(pipeline)
            }
            let shares = [LiveShare(of: live.id)]
            func overdue(_ most: Duration) async throws -> [ConversationID] {
                try await connection.query(LiveTable.overdue(in: shares, pausedFor: most, limit: 9))
            }
            try await write(nil, live)
            #expect(try await connection.query(LiveTable.active(in: shares)) == [live.id])
            #expect(try await overdue(.zero).isEmpty)
            try await write(live, stored)
            #expect(try await connection.query(LiveTable.active(in: shares)).isEmpty)
            #expect(try await overdue(.zero) == [live.id])
            #expect(try await overdue(.seconds(20_000 * 86_400)).isEmpty)
            #expect(try await connection.query(LiveTable.open(of: [phone])) == [phone: 1])
            #expect(try await connection.query(LiveTable.open(in: [live.profile])) == [live.profile: 1])
            var ended = stored
            ended.stream = nil
            try await write(stored, ended)
            #expect(try await overdue(.zero).isEmpty)
            #expect(try await connection.query(LiveTable.open(of: [phone])).isEmpty)
            #expect(try await connection.query(LiveTable.open(in: [live.profile])).isEmpty)
        }
    }

    /// Before its owner has heard of it, and whatever it does.
    @Test func aConversationWithoutAProfileIsNotShown() async throws {
        let bench = try LiveBench.created()
        let conversation = bench.conversation
        try await Self.run { connection in
            var pipeline = Pipeline()
            pipeline.add(LiveTable.write([.init(before: nil, after: conversation)]))
            _ = try await connection.pipeline(pipeline)
            let shares = [LiveShare(of: conversation.id)]
            #expect(try await connection.query(LiveTable.look(conversation.id)) != nil)
            #expect(
                try await connection.query(LiveTable.ids(of: [conversation.profile], in: shares)) == [conversation.id])
            // A ban may end, and whoever is banned is a member.
            try await connection.execute("DELETE FROM auth.profile_membership")
            try await connection.execute(
                "INSERT INTO auth.profile_membership VALUES (\(PostgresUUID(conversation.profile)), 2, 1, true)")
            #expect(try await connection.query(LiveTable.look(conversation.id)) != nil)
            #expect(
                try await connection.query(LiveViews.members(of: [conversation.profile])) == [conversation.profile: []])
            try await connection.execute("DELETE FROM auth.profile_membership")
            #expect(try await connection.query(LiveTable.look(conversation.id)) == nil)
            #expect(try await connection.query(LiveViews.members(of: [conversation.profile])).isEmpty)
            #expect(try await connection.query(LiveTable.expired(in: shares, limit: 9)) == [conversation.id])
        }
    }

    /// A conversation as the tables keep it: without its attendances.
    private static func kept(_ conversation: LiveMachine) -> LiveMachine {
        var kept = conversation
        (kept.attendances, kept.waiting, kept.knocksToldAt) = ([:], [:], [:])
        for id in kept.listeners.keys {
            // An absent nonce is stored as an empty one.
            if kept.listeners[id]?.refusalNonce == nil { kept.listeners[id]?.refusalNonce = [] }
        }
        return kept
    }

    static func run(_ body: (PostgresConnection) async throws -> Void) async throws {
        try await self.run { connection, _ in try await body(connection) }
    }

    static func run(_ body: (PostgresConnection, TestDatabase) async throws -> Void) async throws {
        try await TestDatabase.with("live", prepare: self.migrate) { database in
            let connection = PostgresConnection(
                PostgresConfiguration(url: database.url(user: "whisper_calls"), applicationName: "calls-tests"),
                logger: Self.quiet)
            try await connection.connect()
            try await body(connection, database)
        }
    }

    private static func migrate(_ database: TestDatabase) async throws {
        try await callsMigrator.run(
            PostgresConfiguration(url: database.url(), applicationName: "migrate"), logger: Self.quiet)
        try await database.run(
            """
            ALTER ROLE whisper_calls LOGIN;
            -- As auth declares it (`Services/auth/AuthCore/Migrations/009_profiles.sql`).
            CREATE SCHEMA auth; GRANT USAGE ON SCHEMA auth TO whisper_calls;
            CREATE TABLE auth.profile_membership (profile_id uuid, whisper_id bigint, epoch bigint, is_banned boolean);
            GRANT SELECT, INSERT, DELETE ON auth.profile_membership TO whisper_calls;
            INSERT INTO auth.profile_membership VALUES ('\(LiveBench.profile)', 1, 1, false);
            -- The router's, as far as calls know it.
            CREATE SCHEMA router;
            CREATE TABLE router.sociable (identity bigint PRIMARY KEY);
            CREATE FUNCTION router.has_peer(someone bigint) RETURNS boolean LANGUAGE sql STABLE SECURITY DEFINER
                AS 'SELECT EXISTS (SELECT FROM router.sociable WHERE identity = someone)';
            GRANT USAGE ON SCHEMA router TO whisper_calls;
            GRANT INSERT ON router.sociable TO whisper_calls;
            """)
    }
}
