@testable import ConversationsCore
import ClusterContract
import Contract
import LocalStack
import Participants
import TestKit
import Testing

@testable import Jobs
@testable import Store

/// Lines and shares in a real Postgres, with the rights that the migrations granted and no more.
@Suite struct TranscriptTableTests {
    @Test func aLineIsStoredOnce() async throws {
        try await Store.run { store in
            let (first, second) = (store.bench.line(1, bytes: 40), store.bench.line(2, bytes: 32))
            #expect(try await store.keep([first, second, first]) == 2)
            // The same number again, sealed otherwise.
            #expect(try await store.keep([store.bench.line(1), store.bench.line(3, bytes: 50)]) == 1)
            let lines = try await store.lines()
            #expect(lines.map(\.line) == [1, 2, 3] && lines.first?.seal == first.seal)
            #expect(lines.first?.position == first.position && lines.first?.generation == 1)
            #expect(
                try await store.connection.query(TranscriptTable.lastLines(of: [store.content])) == [store.content: 3])
            let listed = try await store.list()
            #expect(listed.map(\.lines) == [3] && listed.map(\.bytes) == [122] && listed.first?.endedAt == nil)
            #expect(try await store.head() == .init(isOpen: true, lastLine: 3))
        }
    }

    /// Its lines went with it.
    @Test func withTheConversationGoesItsTranscript() async throws {
        try await Store.run { store in
            #expect(try await store.keep([store.bench.line(1)]) == 1)
            _ = try await store.share()
            try await store.write(store.stored, nil)
            for table in ["transcripts", "transcript_lines", "transcript_shares"] {
                #expect(try await store.count(table) == 0, "\(table)")
            }
        }
    }

    /// At once, before its owner has heard of it.
    @Test func withTheProfileGoesTheShare() async throws {
        try await Store.run { store in
            #expect(try await store.keep([store.bench.line(1)]) == 1)
            let (id, _) = try #require(try await store.share())
            #expect(try await store.find(id) != nil)
            try await store.connection.execute("DELETE FROM auth.profile_membership")
            #expect(try await store.find(id) == nil)
        }
    }

    @Test func pagesAreBoundedInLinesAndBytes() async throws {
        try await Store.run { store in
            #expect(try await store.keep((1...40).map { store.bench.line($0, bytes: 12_288) }) == 40)
            var (read, pages, after) = ([Int](), 0, 0)
            while after < 40 {
                let lines = try await store.lines(after: after, bytesMax: ConversationLimits.linesBytesMax)
                try #require(!lines.isEmpty)
                let head = try #require(try await store.head())
                let page = head.page(of: lines)
                #expect(page.json.count <= Limits.pageBytesMax)
                #expect(page.hasMore == (lines.last!.line < 40))
                read += lines.map(\.line)
                (after, pages) = (lines.last!.line, pages + 1)
            }
            #expect(read == Array(1...40) && pages == 2)
            #expect(try await store.lines(after: 7, limit: 3).map(\.line) == [8, 9, 10])
            #expect(try await store.lines(after: 40).isEmpty)
        }
    }

    /// The longest that a line can be written.
    @Test func noLineIsLongerThanItsBound() {
        let line = TranscriptOperations.Line(
            line: Int(LiveLimits.lineNumbers.upperBound),
            position: LivePosition(epoch: LiveLimits.sequence.upperBound, seq: LiveLimits.sequence.upperBound),
            generation: Int(LiveLimits.generations.upperBound),
            seal: .init(nonce: [UInt8](repeating: 0, count: 12), ciphertext: [UInt8](repeating: 0, count: 300)),
            storedAt: Timestamp(milliseconds: 99_999_999_999_999))
        let pages = [1, 2].map {
            TranscriptOperations.Lines(lines: Array(repeating: line, count: $0), isOpen: false, hasMore: true).json
                .count
        }
        #expect(pages[1] - pages[0] <= TranscriptOperations.Line.overheadBytesMax + 400)
        #expect(pages[0] - (pages[1] - pages[0]) <= 256)
    }

    /// Contract §14.11: `transcriptDays` after the end of its stream.
    @Test func linesGoSoLongAfterTheEnd() async throws {
        try await Store.run { store in
            #expect(try await store.keep([store.bench.line(1), store.bench.line(2)]) == 2)
            let (share, _) = try #require(try await store.share(for: 31_536_000))
            var ended = store.stored
            ended.stream = nil
            ended.usedAt = LiveBench.start + .seconds(600)
            try await store.write(store.stored, ended)
            let end = ended.usedAt + .seconds(30 * 86_400)
            let (before, after) = (StoreTime.at(end + .milliseconds(-1)), StoreTime.at(end))
            #expect(try await store.list(at: before).map(\.expiresAt) == [end])
            #expect(try await store.list(at: before).map(\.endedAt) == [ended.usedAt])
            #expect(try await store.head(at: before)?.isOpen == false)
            #expect(try await store.connection.query(TranscriptShareTable.find(share, at: before)) != nil)
            // Nobody sees it any more, swept or not.
            #expect(try await store.list(at: after).isEmpty)
            #expect(try await store.head(at: after) == nil)
            #expect(try await store.connection.query(TranscriptShareTable.find(share, at: after)) == nil)

            // The stream stays known as long as its lines, whose end the database's clock has passed long ago.
            #expect(try await store.sweep(at: before) == 0)
            #expect(try await store.count("streams") == 1)
            #expect(try await store.count("transcript_lines") == 2)
            #expect(try await store.sweep(at: after, limit: 1) == 1)
            #expect(try await store.count("transcript_lines") == 1)
            #expect(try await store.sweep(at: after) == 1)
            for table in ["transcripts", "transcript_lines", "transcript_shares"] {
                #expect(try await store.count(table) == 0, "\(table)")
            }
            #expect(try await store.count("streams") == 0)
        }
    }

    @Test func aStreamThatGoesOnExpiresNever() async throws {
        try await Store.run { store in
            #expect(try await store.keep([store.bench.line(1)]) == 1)
            let far = StoreTime.at(LiveBench.start + .seconds(500 * 86_400))
            #expect(try await store.sweep(at: far) == 0)
            #expect(try await store.head(at: far) == .init(isOpen: true, lastLine: 1))
            let listed = try await store.list(at: far)
            #expect(listed.map(\.expiresAt) == [LiveBench.start + .seconds(530 * 86_400)])
        }
    }

    @Test func listsGoFromNewToOld() async throws {
        try await Store.run { store in
            var contents: [UUIDText] = []
            var before = store.stored
            for number in 0..<3 {
                var next = before
                // Two begin in the same millisecond.
                let content = UUIDText(high: 0, low: UInt64(number))
                next.stream = LiveMachine.Stream(
                    content: content, holder: store.bench.phone.id,
                    phase: .live(store.bench.phone.connection, goneAt: nil),
                    transcriptDays: 30, startedAt: LiveBench.start + .seconds(number == 2 ? 2 : 1),
                    changedAt: LiveBench.start)
                try await store.write(before, next)
                #expect(try await store.keep([store.bench.line(1, of: content)]) == 1)
                contents.append(content)
                before = next
            }
            // The first stream had no line: it leaves no transcript.
            #expect(try await store.count("streams") == 4)
            let all = try await store.list()
            #expect(all.map(\.content) == contents.reversed())
            let rest = try await store.list(behind: all[0].cursor, limit: 1)
            #expect(rest.map(\.content) == [contents[1]])
            #expect(try await store.list(behind: rest[0].cursor).map(\.content) == [contents[0]])
            #expect(try await store.list(behind: all[2].cursor).isEmpty)
        }
    }

    @Test func sharesAreBounded() async throws {
        try await Store.run { store in
            #expect(try await store.keep([store.bench.line(1)]) == 1)
            var ids: [UUIDText] = []
            for _ in 0..<LiveLimits.sharesMax { ids.append(try #require(try await store.share()).0) }
            #expect(try await store.share() == nil)
            // One that has expired does not count.
            #expect(try await store.share(at: StoreTime.at(LiveBench.start + .seconds(60))) != nil)
            let delete = TranscriptShareTable.delete(ids[0], of: ConversationID(high: 1, low: 1))
            _ = try await store.connection.query(delete)
            #expect(try await store.find(ids[0]) != nil, "of another conversation")
            _ = try await store.connection.query(TranscriptShareTable.delete(ids[0], of: store.stored.id))
            #expect(try await store.find(ids[0]) == nil)
            // A share ends by itself, and never later than the transcript.
            #expect(try await store.find(ids[1], at: LiveBench.start + .milliseconds(59_999)) != nil)
            #expect(try await store.find(ids[1], at: LiveBench.start + .seconds(60)) == nil)
            var ended = store.stored
            ended.stream = nil
            try await store.write(store.stored, ended)
            let late = StoreTime.at(LiveBench.start + .seconds(29 * 86_400))
            let (_, expiresAt) = try #require(try await store.share(for: 31_536_000, at: late))
            #expect(expiresAt == LiveBench.start + .seconds(30 * 86_400))
            _ = try await store.connection.query(TranscriptTable.delete(store.content))
            #expect(try await store.count("transcript_shares") == 0)
            #expect(try await store.count("streams") == 1)
        }
    }

    /// Another member deletes it, or its time is over, while the body is read.
    @Test func aTranscriptThatIsGoneIsNotShared() async throws {
        try await Store.run { store in
            #expect(try await store.sharing() == .noTranscript, "no line yet")
            #expect(try await store.keep([store.bench.line(1)]) == 1)
            var few = KeptBounds()
            few.profileSharesMax = 0
            #expect(try await store.sharing(within: few) == .noRoom)
            var ended = store.stored
            ended.stream = nil
            try await store.write(store.stored, ended)
            let end = StoreTime.at(LiveBench.start + .seconds(30 * 86_400))
            #expect(try await store.sharing(at: end) == .noTranscript)
            _ = try await store.connection.query(TranscriptTable.delete(store.content))
            #expect(try await store.sharing() == .noTranscript)
            try await store.write(ended, nil)
            #expect(try await store.sharing() == .noTranscript)
        }
    }

    /// Lines are stored and deleted in this order, too.
    @Test func anErasureLocksTranscriptsBeforeTheirBytes() async throws {
        try await Store.run { store in
            #expect(try await store.keep([store.bench.line(1)]) == 1)
            let pool = PostgresPool(
                PostgresConfiguration(
                    url: store.database.url(user: "whisper_calls"), applicationName: "calls-erasure"),
                connections: 1, logger: LiveTableTests.quiet)
            let erasure = OpenErasure(
                id: .random(), principal: .identity(store.bench.phone.id), withdraws: false, isSettled: true)
            for statement: SQL in ["BEGIN", "SELECT FROM calls.transcripts FOR UPDATE"] {
                try await store.connection.execute(statement)
            }
            async let erased = ErasedConversations(pool, bus: MemoryBus()).erase(erasure)
            try await waitUntil("the erasure waits", within: .seconds(5)) {
                try await store.database.run("SELECT count(*) > 0 FROM pg_locks WHERE NOT granted") == "t"
            }
            for statement: SQL in ["SELECT FROM calls.kept_bytes FOR UPDATE NOWAIT", "COMMIT"] {
                try await store.connection.execute(statement)
            }
            #expect(try await erased.removed == 1)
            pool.close()
        }
    }

    /// A conversation whose phone holds a stream that is kept for 30 days.
    struct Store {
        let bench: LiveBench
        let connection: PostgresConnection
        let database: TestDatabase
        var stored: LiveMachine { self.bench.conversation }
        var content: LiveFacts.Content {
            .init(conversation: self.bench.id, content: self.bench.conversation.stream!.content)
        }

        static func run(_ body: (Store) async throws -> Void) async throws {
            var bench = try LiveBench.created { $0["transcriptDays"] = 30 }
            try #require(try bench.send("live_start", bench.starting(), as: bench.phone).type == "live_started")
            let begun = bench
            try await LiveTableTests.run { connection, database in
                let store = Store(bench: begun, connection: connection, database: database)
                try await store.write(nil, begun.conversation)
                let loaded = try await LiveTable.load([begun.id], on: connection)
                #expect(loaded.first?.stream?.transcriptDays == 30)
                try await body(store)
            }
        }

        func write(_ before: LiveMachine?, _ after: LiveMachine?) async throws {
            var pipeline = Pipeline()
            pipeline.add(LiveTable.write([.init(before: before, after: after)]))
            _ = try await self.connection.pipeline(pipeline)
        }

        func keep(_ lines: [LiveLine]) async throws -> Int { try await self.keep(lines, within: KeptBounds()).count }

        func keep(_ lines: [LiveLine], within bounds: KeptBounds) async throws -> TranscriptTable.Stored {
            try await self.connection.query(TranscriptTable.store(lines, within: bounds))
        }

        func lines(
            after line: Int = 0, limit: Int = 500, bytesMax: Int = .max
        ) async throws -> [TranscriptOperations.Line] {
            try await self.connection.query(
                TranscriptTable.lines(of: self.content, after: line, limit: limit, bytesMax: bytesMax))
        }

        func list(
            behind cursor: TranscriptCursor? = nil, limit: Int = 10, at now: StoreTime = .at(LiveBench.start)
        ) async throws -> [TranscriptOperations.Transcript] {
            try await self.connection.query(
                TranscriptTable.list(of: self.stored.id, behind: cursor, limit: limit, at: now))
        }

        func head(at now: StoreTime = .at(LiveBench.start)) async throws -> TranscriptTable.Head? {
            try await self.connection.query(TranscriptTable.head(of: self.content, at: now))
        }

        /// For a minute.
        func share(
            for seconds: Int = 60, within bounds: KeptBounds = KeptBounds(), at now: StoreTime = .at(LiveBench.start)
        ) async throws -> (UUIDText, Timestamp)? {
            let id = UUIDText.random()
            let sharing = try await self.sharing(id, for: seconds, within: bounds, at: now)
            return if case .made(let expiresAt) = sharing { (id, expiresAt) } else { nil }
        }

        func sharing(
            _ id: UUIDText = .random(), for seconds: Int = 60, within bounds: KeptBounds = KeptBounds(),
            at now: StoreTime = .at(LiveBench.start)
        ) async throws -> TranscriptShareTable.Sharing {
            let fields = Person.versions.with([
                "shareVerifier": Keys.random(32).base64, "nonce": Keys.random(12).base64,
                "ciphertext": Keys.random(48).base64, "expiresInSeconds": seconds,
            ])
            let payload = try FrameDecoder.payload(
                bare: Array(fields.json.text.utf8), schema: TranscriptOperations.Share.schema)
            return try await self.connection.query(
                TranscriptShareTable.insert(
                    id, of: self.content, TranscriptOperations.Share(payload), by: self.bench.phone.id, within: bounds,
                    at: now))
        }

        func find(_ id: UUIDText, at now: Timestamp = LiveBench.start) async throws -> TranscriptShareTable.Found? {
            try await self.connection.query(TranscriptShareTable.find(id, at: .at(now)))
        }

        /// - Returns: how many lines have gone.
        func sweep(at now: StoreTime, limit: Int = 100) async throws -> Int {
            let shares = [LiveShare(of: self.stored.id)]
            let gone = try await self.connection.query(TranscriptTable.sweepLines(in: shares, limit: limit, at: now))
            var pipeline = Pipeline()
            _ = pipeline.add(TranscriptTable.sweep(in: shares, limit: limit, at: now))
            pipeline.add(LiveTable.sweep(in: shares))
            _ = try await self.connection.pipeline(pipeline)
            return gone
        }

        func count(_ table: String) async throws -> Int64 {
            let sql: SQL =
                switch table {
                case "streams": "SELECT count(*) FROM calls.streams"
                case "transcripts": "SELECT count(*) FROM calls.transcripts"
                case "transcript_lines": "SELECT count(*) FROM calls.transcript_lines"
                default: "SELECT count(*) FROM calls.transcript_shares"
                }
            return try await self.connection.query(Statement<Int64>(value: sql))
        }
    }
}
