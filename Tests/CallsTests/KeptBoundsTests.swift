@testable import ConversationsCore
import ClusterContract
import Contract
import Participants
import Store
import Testing

/// Contract §13b: what whisperers can make calls keep, judged in the statements that store, in a real Postgres.
@Suite struct KeptBoundsTests {
    private typealias Bench = TranscriptTableTests.Store

    /// Bytes that a line of this much ciphertext counts.
    private static func size(_ bytes: Int) -> Int { bytes + Int(ConversationLimits.lineRowBytes) }

    @Test func linesOfAnIdentityWithoutAPeerAreBounded() async throws {
        try await Bench.run { store in
            var bounds = KeptBounds()
            bounds.strangerLineBytesMax = 3 * Self.size(40)
            let lines = (1...5).map { store.bench.line($0, bytes: 40) }
            #expect(try await store.keep(lines, within: bounds) == .init(count: 3, notKept: [3, 4]))
            #expect(try await store.lines().map(\.line) == [1, 2, 3])
            // A repeated line is acknowledged as stored, and nothing more is kept.
            #expect(try await store.keep(Array(lines[2...3]), within: bounds) == .init(count: 0, notKept: [1]))
            #expect(try await store.keptBytes() == Int64(3 * Self.size(40)))
            // Somebody with a peer has the room of the profile.
            try await store.hasPeer()
            #expect(try await store.keep(lines, within: bounds) == .init(count: 2, notKept: []))
            #expect(try await store.keptBytes() == Int64(5 * Self.size(40)))
            // A deleted transcript makes room.
            _ = try await store.connection.query(TranscriptTable.delete(store.content))
            #expect(try await store.keptBytes() == 0)
            #expect(try await store.keep(lines, within: bounds).count == 5)
            // With the conversation it goes, too.
            try await store.write(store.stored, nil)
            #expect(try await store.keptBytes() == 0)
        }
    }

    @Test func linesOfAProfileAreBounded() async throws {
        try await Bench.run { store in
            try await store.hasPeer()
            var bounds = KeptBounds()
            bounds.profileLineBytesMax = Self.size(40) + Self.size(60)
            bounds.strangerLineBytesMax = 0
            let lines = [
                store.bench.line(1, bytes: 40), store.bench.line(2, bytes: 60), store.bench.line(3, bytes: 40),
            ]
            #expect(try await store.keep(lines, within: bounds) == .init(count: 2, notKept: [2]))
        }
    }

    @Test func allStrangersTogetherLeaveRoomForOthers() async throws {
        try await Bench.run { store in
            var bounds = KeptBounds()
            #expect(try await store.keep([store.bench.line(1, bytes: 40)], within: bounds).count == 1)
            // Everybody together is near the bound: those with a peer are counted out.
            bounds.strangersBytesMax = Self.size(40) + 1
            try await store.countStrangers(within: bounds)
            #expect(try await store.connection.query(StrangerBytesTable.read())[.lines] == Int64(Self.size(40)))
            let next = [store.bench.line(2, bytes: 40)]
            #expect(try await store.keep(next, within: bounds) == .init(count: 0, notKept: [0]))
            #expect(try await store.share(within: bounds) != nil, "a store of its own")
            try await store.hasPeer()
            #expect(try await store.keep(next, within: bounds) == .init(count: 1, notKept: []))
            // Not counted anew for half a minute.
            try await store.countStrangers(within: bounds)
            #expect(try await store.connection.query(StrangerBytesTable.read())[.lines] == Int64(Self.size(40)))
            _ = try await store.connection.query(
                "UPDATE calls.stranger_bytes SET counted_at = now() - interval '1 hour'")
            try await store.countStrangers(within: bounds)
            #expect(try await store.connection.query(StrangerBytesTable.read())[.lines] == 0)
        }
    }

    @Test func sharesOfAProfileAreBounded() async throws {
        try await Bench.run { store in
            #expect(try await store.keep([store.bench.line(1)]) == 1)
            var (few, small, together) = (KeptBounds(), KeptBounds(), KeptBounds())
            few.profileSharesMax = 2
            for _ in 0..<2 { #expect(try await store.share(within: few) != nil) }
            #expect(try await store.share(within: few) == nil)
            // Each has 48 bytes.
            small.profileShareBytesMax = 3 * 48
            #expect(try await store.share(within: small) != nil)
            #expect(try await store.share(within: small) == nil)
            together.strangersBytesMax = 3 * 48
            try await store.countStrangers(within: together)
            #expect(try await store.share(within: together) == nil)
            try await store.hasPeer()
            #expect(try await store.share(within: together) != nil)
        }
    }

    /// Many more than one statement deletes, of a long transcript and of short ones.
    @Test func allThatHasExpiredGoesInOneSweep() async throws {
        try await Bench.run { store in
            let (long, short) = (
                ConversationLimits.linesSweptAtOnce * 6, ConversationLimits.transcriptsSweptAtOnce + 500
            )
            try await store.expires(lines: long, andTranscripts: short)
            let shares = [LiveShare(of: store.stored.id)]
            // Without time, one statement's.
            #expect(try await TranscriptSweep.run(in: shares, on: store.connection, for: .zero))
            #expect(
                try await store.count("transcript_lines") == Int64(long + short - ConversationLimits.linesSweptAtOnce))
            #expect(try await !TranscriptSweep.run(in: shares, on: store.connection, for: .seconds(300)))
            #expect(try await store.count("transcript_lines") == 0)
            #expect(try await store.count("transcripts") == 0)
        }
    }
}

extension TranscriptTableTests.Store {
    fileprivate func hasPeer() async throws {
        _ = try await self.connection.query(
            "INSERT INTO router.sociable VALUES (\(self.bench.phone.id)) ON CONFLICT DO NOTHING")
    }

    fileprivate func keptBytes() async throws -> Int64 {
        try await self.connection.query(
            Statement<Int64>(value: "SELECT coalesce(sum(bytes), 0)::int8 FROM calls.kept_bytes"))
    }

    fileprivate func countStrangers(within bounds: KeptBounds) async throws {
        _ = try await self.connection.query(StrangerBytesTable.count(max: bounds.strangersBytesMax))
    }

    /// One stream with so many lines, and so many streams with one each; all of them expired long ago.
    fileprivate func expires(lines: Int, andTranscripts transcripts: Int) async throws {
        let id = PostgresUUID(self.stored.id.uuid)
        for statement: SQL in [
            """
            INSERT INTO calls.streams (conversation_id, content_id, state, holder, is_transcribed, transcript_days, started_at,
                changed_at, expires_at)
            SELECT \(id), ('00000000-0000-0000-0000-' || lpad(n::text, 12, '0'))::uuid, 'ended', 1, true, 1, now(), now(),
                now() - interval '1 day'
            FROM generate_series(0, \(Int64(transcripts))) AS n
            """,
            """
            INSERT INTO calls.transcripts (conversation_id, content_id, last_line, lines, bytes)
            SELECT conversation_id, content_id, 1, 1, 17 FROM calls.streams WHERE state = 'ended'
            """,
            """
            INSERT INTO calls.transcript_lines (conversation_id, content_id, line, epoch, seq, generation, nonce, ciphertext)
            SELECT conversation_id, content_id, 1, 1, 1, 1, '', '' FROM calls.transcripts
            """,
            """
            INSERT INTO calls.transcript_lines (conversation_id, content_id, line, epoch, seq, generation, nonce, ciphertext)
            SELECT \(id), '00000000-0000-0000-0000-000000000000', n, 1, 1, 1, '', ''
            FROM generate_series(2, \(Int64(lines))) AS n
            """,
        ] { _ = try await self.connection.query(statement) }
    }
}
