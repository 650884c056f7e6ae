@testable import ConversationsCore
import ClusterContract
import Contract
import TestKit
import Testing

/// Which lines are stored, and who hears of it: contract §14.11, §19.10.
@Suite struct TranscriptRuleTests {
    private static let content = UUIDText("c1d2e3f4-0f7c-4e51-9d0c-3c7d1d2b7a10")!

    @Test func theHoldersLineIsStoredAndTold() throws {
        var bench = try Self.begun()
        let line = bench.line(3)
        bench.rules { $0.said(line) }
        #expect(bench.lines == [line])
        bench.tellings = LiveRules.stored([bench.line(4), bench.line(3), bench.line(4)])
        let told = bench.frames("live_line_stored", to: .connection(bench.phone.connection))
        #expect(told.map { $0["contentId"]?.string } == ["\(Self.content)"])
        #expect(told.first?["lines"] == .array([.integer(3), .integer(4)]))
    }

    /// Contract §13b: told once, and not sent again.
    @Test func aLineWithoutRoomIsToldAsNotKept() throws {
        var bench = try Self.begun()
        let lines = [3, 4, 5, 4].map { bench.line($0) }
        // The last entry repeats line 4, whose first copy had room.
        bench.tellings = LiveRules.stored(lines, notKept: [2, 3])
        let told = bench.frames("live_line_stored", to: .connection(bench.phone.connection))
        #expect(told.first?["lines"] == .array([.integer(3), .integer(4)]))
        #expect(told.first?["notKept"] == .array([.integer(5)]))
        bench.tellings = LiveRules.stored([lines[0]], notKept: [0])
        let last = bench.frames("live_line_stored", to: .connection(bench.phone.connection)).first
        #expect(last?["lines"] == .array([]) && last?["notKept"] == .array([.integer(3)]))
    }

    @Test func whatIsNotOfThePresentStreamIsNot() throws {
        var bench = try Self.begun()
        func stored(_ change: (inout LiveLine) -> Void) -> Int {
            var line = bench.line(1)
            change(&line)
            bench.rules { $0.said(line) }
            return bench.lines.count
        }
        #expect(stored { _ in } == 1)
        #expect(stored { $0.connection = bench.tablet.connection } == 0)
        #expect(stored { $0.content = .random() } == 0)
        #expect(stored { $0.position.epoch = 2 } == 0)
        #expect(stored { $0.position.epoch = 0 } == 0)
        #expect(stored { $0.line = 0 } == 0)
        #expect(stored { $0.generation = 2 } == 0)
        #expect(stored { $0.conversation = ConversationID(high: 1, low: 1) } == 0)

        // Its connection is lost and waited for: what it had said before comes all the same.
        let (id, connection) = (bench.id, bench.phone.connection)
        bench.rules { $0.left(id, connection) }
        #expect(stored { _ in } == 1)
        bench.now = bench.now + .seconds(15)
        bench.rules { $0.tick() }
        #expect(stored { _ in } == 0, "paused")
        _ = try bench.send("live_start", bench.starting(), as: bench.tablet)
        #expect(stored { $0.position.epoch = 2 } == 0, "taken over")
        #expect(
            stored {
                $0.position.epoch = 2
                $0.connection = bench.tablet.connection
            } == 1)
        _ = try bench.send("live_stop", bench.starting(), as: bench.tablet)
        #expect(
            stored {
                $0.position.epoch = 2
                $0.connection = bench.tablet.connection
            } == 0)
    }

    /// Its rows would have no stream to belong to.
    @Test func aDeletedConversationKeepsNoLine() throws {
        var bench = try Self.begun()
        let line = bench.line(1)
        let device = bench.phone
        let delete = try LiveBench.body("live_delete", bench.named)
        bench.rules(for: [.identity(device.id)]) {
            $0.said(line)
            _ = $0.received(
                LiveFrame(
                    delete, from: device.principal, on: device.connection, requestID: nil, receivedAt: $0.time))
        }
        #expect(bench.lines.isEmpty && bench.book[bench.id] == nil)
    }

    /// Contract §19.10: a change counts from the next contentId on.
    @Test func whatIsKeptIsDecidedAtTheBeginning() throws {
        var bench = try LiveBench.created()
        _ = try bench.send("live_start", bench.starting(), as: bench.phone)
        _ = try bench.send("live_update", bench.named.with(["transcriptDays": 30]), as: bench.phone)
        _ = try bench.send("live_start", bench.starting(), as: bench.tablet)
        #expect(bench.conversation.stream?.transcriptDays == 0)
        let line = bench.line(1, epoch: 2, on: bench.tablet)
        bench.rules { $0.said(line) }
        #expect(bench.lines.isEmpty)

        _ = try bench.send("live_start", bench.starting(.random()), as: bench.phone)
        #expect(bench.conversation.stream?.transcriptDays == 30)
        #expect(bench.conversation.stream(at: bench.now).isTranscribed)
        _ = try bench.send("live_update", bench.named.with(["transcriptDays": 0]), as: bench.phone)
        #expect(bench.conversation.stream?.transcriptDays == 30)
    }

    @Test func operatorsBoundHowLongLinesAreKept() throws {
        var bench = try LiveBench.created { $0["transcriptDays"] = 30 }
        bench.bounds.transcriptDaysMax = 7
        let update = bench.named.with(["transcriptDays": 8])
        #expect(try bench.send("live_update", update, as: bench.phone).code == .forbidden)
        #expect(bench.conversation.transcriptDays == 30)
        _ = try bench.send("live_start", bench.starting(), as: bench.phone)
        #expect(bench.conversation.stream?.transcriptDays == 7)
        #expect(
            try bench.send("live_update", bench.named.with(["transcriptDays": 7]), as: bench.phone).type
                == "live_conversation")
        var other = LiveBench()
        other.bounds.transcriptDaysMax = 7
        let create = other.create { $0["transcriptDays"] = 8 }
        #expect(try other.send("live_create", create, as: other.phone).code == .forbidden)
    }

    @Test func whoResumesHearsTheGreatestLine() throws {
        var bench = try Self.begun()
        bench.lastLines[.init(conversation: bench.id, content: Self.content)] = 7
        #expect(try bench.send("live_start", bench.starting(), as: bench.tablet).payload["line"]?.integer == 7)
        // One that is stored in the same transaction counts.
        let line = bench.line(9, epoch: 2, on: bench.tablet)
        let (start, device) = (try LiveBench.body("live_start", bench.starting()), bench.phone)
        var answer = Answer.done
        bench.rules(for: [.identity(device.id)]) {
            $0.said(line)
            answer = $0.received(
                LiveFrame(start, from: device.principal, on: device.connection, requestID: nil, receivedAt: $0.time))
        }
        #expect(answer.payload["line"]?.integer == 9 && bench.lines == [line])
        #expect(try bench.send("live_start", bench.starting(.random()), as: bench.phone).payload["line"]?.integer == 0)
    }

    /// With a transcribed stream that the phone holds.
    private static func begun() throws -> LiveBench {
        var bench = try LiveBench.created { $0["transcriptDays"] = 30 }
        try #require(try bench.send("live_start", bench.starting(), as: bench.phone).type == "live_started")
        return bench
    }
}

/// Old Jobs, in a batch.
@Suite struct LineBatchTests {
    /// A client whose frame is dropped gets INTERNAL_ERROR. A dropped line would go unnoticed.
    @Test func anOldLineIsStoredAllTheSame() {
        let line = LiveBench().line(1)
        var batch = LiveBatch()
        let share = LiveShare(of: line.conversation)
        batch.add(.line(line), share: share, age: .seconds(3_600))
        guard case .line(line)? = batch.steps.first else {
            Issue.record("dropped")
            return
        }
        #expect(batch.isOfLinesAlone && batch.conversations == [line.conversation])
        batch.add(.report(line.connection.node, []), share: share, age: .zero)
        #expect(!batch.isOfLinesAlone)
    }
}

extension LiveBench {
    func starting(_ content: UUIDText = UUIDText("c1d2e3f4-0f7c-4e51-9d0c-3c7d1d2b7a10")!) -> Fields {
        self.named.with(["contentId": "\(content)"])
    }

    func line(
        _ number: Int, epoch: Int64 = 1, on device: Device? = nil,
        of content: UUIDText = UUIDText("c1d2e3f4-0f7c-4e51-9d0c-3c7d1d2b7a10")!, bytes: Int = 32
    ) -> LiveLine {
        LiveLine(
            conversation: self.id, content: content, connection: (device ?? self.phone).connection,
            position: LivePosition(epoch: epoch, seq: Int64(number) * 2), line: number, generation: 1,
            seal: .init(nonce: Keys.random(12), ciphertext: Keys.random(bytes)))
    }
}
