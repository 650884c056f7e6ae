import ClusterContract
import Contract
import NIOCore
import TestKit
import Testing

@testable import GatewayCore

/// A gateway's memory of a stream, and what listeners get of it (contract §14.10).
@Suite struct LiveMemoryTests {
    /// A whisperer as contract §14.9 describes it, and everything it has said.
    private struct Whisperer {
        var said: [RememberedPacket] = []
        var generation = 1
        private var line = 0
        private var mustSnap = true
        private var random: SeededGenerator
        private(set) var now: Int64 = 1_000_000

        init(_ random: SeededGenerator) { self.random = random }

        mutating func say() -> RememberedPacket {
            self.now += Int64(self.random.upTo(1_500))
            let kind: LivePacketKind =
                self.mustSnap ? .snapshot : [.snapshot, .diff, .diff, .diff, .diff, .line, .cue][self.random.upTo(7)]
            if kind == .line { self.line += 1 }
            self.mustSnap = kind == .line
            let packet = RememberedPacket.test(
                kind, seq: Int64(self.said.count + 1), line: self.line, generation: self.generation, at: self.now)
            self.said.append(packet)
            return packet
        }

        /// The text after this packet, as the numbers of the packets that it is made of.
        func text(at seq: Int64) -> [Int64] {
            self.said.prefix(Int(seq)).reduce(into: []) { text, packet in packet.change(&text) }
        }
    }

    /// A client that shows what it gets, as contract §14.10 says.
    private struct Client {
        var place: ListenerPosition
        var text: [Int64] = []
        var lines: [Int] = []
        var isWhole = true

        mutating func get(_ packet: RememberedPacket) {
            if packet.header.kind == .line { self.lines.append(packet.header.line) }
            guard packet.position > self.place.position else { return }
            let isDirect = packet.position.directlyFollows(self.place.position)
            if !isDirect, packet.header.kind == .diff || packet.header.kind == .cue { self.isWhole = false }
            packet.change(&self.text)
        }

        mutating func get(_ gift: StreamMemory.Gift) {
            for line in gift.lines {
                self.lines.append(line.header.line)
                self.place.gave(line: line)
            }
            for packet in gift.text {
                self.get(packet)
                self.place.gave(packet)
            }
        }
    }

    /// A listener at any position gets packets up to the current text, or a snapshot is asked for. Each line comes
    /// once, none from before it joined, and lines that are not in memory are known to be missing.
    @Test(arguments: Prove.seeds(0..<300)) func aListenerAnywhereIsBroughtUpToDate(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var whisperer = Whisperer(random)
        var memory = StreamMemory()
        memory.follow(.test())
        for _ in 0..<1 + random.upTo(120) {
            let previous = Int64(whisperer.said.count)
            #expect(memory.add(whisperer.say(), after: previous) == .next)
        }
        let last = Int64(whisperer.said.count)
        let seq = Int64(random.upTo(Int(last) + 1))
        let joinedAt = Int64(random.upTo(Int(last) + 1))
        let since = joinedAt == 0 ? 0 : whisperer.said[Int(joinedAt) - 1].at.milliseconds + 1
        let known = seq == 0 ? 0 : whisperer.said[Int(seq) - 1].header.line
        var client = Client(
            place: ListenerPosition(
                position: LivePosition(epoch: 1, seq: seq), line: known, since: Timestamp(milliseconds: since),
                hasText: seq > 0),
            text: whisperer.text(at: seq))
        let gift = memory.gift(
            for: client.place, at: Timestamp(milliseconds: whisperer.now), canAsk: random.upTo(2) == 0)
        client.get(gift)
        if !gift.needsSnapshot {
            #expect(client.place.position == memory.position)
            #expect(client.text == whisperer.text(at: last))
        }
        // Cues from before the snapshot begin a wait, which the snapshot ends.
        #expect(client.isWhole || gift.text.contains { $0.header.kind == .snapshot })
        #expect(Set(client.lines).count == client.lines.count && client.lines == client.lines.sorted())
        let wanted = whisperer.said.filter {
            $0.header.kind == .line && $0.header.line > known && $0.at.milliseconds >= since
        }
        #expect(Set(client.lines).isSubset(of: wanted.map(\.header.line)))
        let missed = wanted.map(\.header.line).filter { !client.lines.contains($0) }
        if let first = missed.first, !gift.needsSnapshot { #expect(gift.missingFrom ?? .max <= first) }
    }

    /// However news between gateways are lost, repeated or overtake each other: a gateway that has not noticed a gap has the same
    /// as the home, and one that asks has it afterwards.
    @Test(arguments: Prove.seeds(0..<300)) func noLossBetweenGatewaysIsSilent(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var whisperer = Whisperer(random)
        var (home, node) = (StreamMemory(), StreamMemory())
        home.follow(.test())
        node.follow(.test())
        var underWay: [(packet: RememberedPacket, previous: Int64)] = []
        // Behind it something may be missing; `nil` if the node knows of nothing.
        var asksBehind: LivePosition?
        for _ in 0..<150 {
            let previous = Int64(whisperer.said.count)
            let packet = whisperer.say()
            _ = home.add(packet, after: previous)
            if random.upTo(10) > 0 { underWay.append((packet, previous)) }
            if random.upTo(10) == 0 { underWay.append((packet, previous)) }
            if random.upTo(8) == 0 { underWay.shuffle(using: &random) }
            while !underWay.isEmpty, random.upTo(4) > 0 {
                let next = underWay.removeFirst()
                let position = node.position
                if node.add(next.packet, after: next.previous) == .afterGap { asksBehind = asksBehind ?? position }
            }
            if let known = asksBehind, random.upTo(3) == 0 {
                // Through the wire, as it goes.
                node.take(try FeedMemory(decoding: home.copy(of: .test(), for: known).encoded()))
                asksBehind = nil
            }
            if asksBehind == nil, node.position == home.position { expectSame(home, node) }
        }
        // An attending gateway sends its position every few seconds, and so learns of a loss at the end.
        node.take(home.copy(of: .test(), for: asksBehind ?? node.position))
        expectSame(home, node)
    }

    private func expectSame(_ home: StreamMemory, _ node: StreamMemory) {
        #expect(node.position == home.position && node.completed == home.completed)
        #expect(node.lines == home.lines)
        // Both may have forgotten it, but never tell another text.
        if node.snapshot != nil { #expect(node.snapshot == home.snapshot && node.behind == home.behind) }
    }

    @Test(arguments: Prove.seeds(0..<100)) func theBoundsOfAStreamHold(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var memory = StreamMemory()
        memory.follow(.test())
        var generation = 1
        for seq in Int64(1)...400 {
            if random.upTo(100) == 0 { generation += 1 }
            let kind = random.upTo(30) == 0 ? .snapshot : [LivePacketKind.diff, .line, .cue][random.upTo(3)]
            let packet = RememberedPacket.test(
                kind, seq: seq, line: Int(seq), generation: generation, at: seq, bytes: 1 + random.upTo(17_000))
            _ = memory.add(packet, after: random.upTo(50) == 0 ? seq : seq - 1)
            let all = [memory.snapshot].compactMap { $0 } + memory.behind + memory.lines + memory.cues
            #expect(memory.bytes == all.reduce(0) { $0 + $1.bytes })
            #expect(memory.bytes <= LiveFeedLimits.streamBytesMax)
            #expect(memory.behind.count <= 64 && memory.lines.count <= 64)
            #expect(all.allSatisfy { $0.header.generation == generation })
        }
        memory.forget()
        #expect(memory.bytes == 0 && memory.position.seq == 400)
    }

    @Test func anotherStreamIsAnotherMemory() {
        var memory = StreamMemory()
        memory.follow(.test())
        _ = memory.add(.test(.snapshot, seq: 1), after: 0)
        _ = memory.add(.test(.line, seq: 2, line: 1), after: 1)
        // Another device goes on with it: lines stay, the text comes anew.
        memory.follow(.test(epoch: 2))
        #expect(memory.snapshot == nil && memory.lines.count == 1 && memory.completed == 1)
        #expect(memory.position == LivePosition(epoch: 2, seq: 0))
        // An older word changes nothing.
        memory.follow(.test())
        #expect(memory.position.epoch == 2)
        memory.follow(.test(epoch: 3, content: 2))
        #expect(memory.lines.isEmpty && memory.completed == nil)
    }

    /// Contract §19.3: what was sealed before a removal is not given after it, even if it comes late.
    @Test func anOlderGenerationIsNotRemembered() {
        var memory = StreamMemory()
        memory.follow(.test())
        _ = memory.add(.test(.snapshot, seq: 1, generation: 2), after: 0)
        #expect(memory.add(.test(.line, seq: 2, line: 1, generation: 1), after: 1) == .old)
        #expect(memory.lines.isEmpty && memory.position.seq == 1 && memory.snapshot != nil)
    }

    /// Answers of the home and packets come by different ways.
    @Test func anOlderAnswerOfTheHomeChangesNothing() {
        var (home, memory) = (StreamMemory(), StreamMemory())
        for packet in [RememberedPacket.test(.snapshot, seq: 1), .test(.diff, seq: 2), .test(.diff, seq: 3)] {
            home.follow(.test())
            memory.follow(.test())
            if packet.position.seq < 3 { _ = home.add(packet, after: packet.position.seq - 1) }
            _ = memory.add(packet, after: packet.position.seq - 1)
        }
        memory.take(home.copy(of: .test(), for: .start))
        #expect(memory.position.seq == 3 && memory.behind.map(\.position.seq) == [2, 3])
    }

    /// Contract §14.10: the newest 64 lines.
    @Test func theNewestLinesAreRemembered() {
        var memory = StreamMemory()
        memory.follow(.test())
        let count = LiveLimits.linesRememberedMax + 6
        for number in 1...count {
            _ = memory.add(.test(.line, seq: Int64(number), line: number), after: Int64(number - 1))
        }
        #expect(memory.lines.map(\.header.line) == Array(7...count))
    }

    /// Contract §14.10: without `after` no line from before, wherever it stands.
    @Test func aLateJoinerGetsNoLineFromBefore() {
        var memory = StreamMemory()
        memory.follow(.test())
        _ = memory.add(.test(.snapshot, seq: 1, at: 10), after: 0)
        _ = memory.add(.test(.line, seq: 2, line: 1, at: 20), after: 1)
        let late = ListenerPosition(line: 1, since: Timestamp(milliseconds: 30))
        let gift = memory.gift(for: late, at: Timestamp(milliseconds: 40), canAsk: true)
        #expect(gift.isEmpty && gift.needsSnapshot && gift.missingFrom == nil)
        _ = memory.add(.test(.snapshot, seq: 3, line: 1, at: 50), after: 2)
        let text = memory.gift(for: late, at: Timestamp(milliseconds: 60), canAsk: true)
        #expect(text.text.map(\.position.seq) == [3] && text.lines.isEmpty && !text.needsSnapshot)
    }

    /// Contract §14.11: a whisperer sends a line again until it is told that it is stored.
    @Test func aLineThatComesAgainIsAsOldAsItWas() {
        var memory = StreamMemory()
        memory.follow(.test())
        _ = memory.add(.test(.snapshot, seq: 1, at: 10), after: 0)
        _ = memory.add(.test(.line, seq: 2, line: 1, at: 20), after: 1)
        _ = memory.add(.test(.line, seq: 3, line: 1, at: 40), after: 2)
        _ = memory.add(.test(.snapshot, seq: 4, line: 1, at: 50), after: 3)
        func gift(since: Int64) -> StreamMemory.Gift {
            let listener = ListenerPosition(line: 0, since: Timestamp(milliseconds: since))
            return memory.gift(for: listener, at: Timestamp(milliseconds: 60), canAsk: true)
        }
        #expect(gift(since: 15).lines.map(\.position.seq) == [2])
        #expect(gift(since: 30).lines.isEmpty && gift(since: 30).missingFrom == nil)
    }

    /// Contract §14.10, §19.7c.
    @Test func cuesAreYoungOrNotPlayed() {
        var memory = StreamMemory()
        memory.follow(.test())
        _ = memory.add(.test(.snapshot, seq: 1, at: 1_000), after: 0)
        _ = memory.add(.test(.cue, seq: 2, at: 2_000), after: 1)
        _ = memory.add(.test(.cue, seq: 3, at: 9_000), after: 2)
        _ = memory.add(.test(.snapshot, seq: 4, at: 10_000), after: 3)
        var slow = ListenerPosition(
            position: LivePosition(epoch: 1, seq: 1), line: 0, since: Timestamp(milliseconds: 0), hasText: true)
        func given(_ now: Int64) -> [Int64] {
            memory.gift(for: slow, at: Timestamp(milliseconds: now), canAsk: true).text.map(\.position.seq)
        }
        #expect(given(11_000) == [3, 4])
        #expect(given(15_000) == [4])
        slow = ListenerPosition(line: 0, since: Timestamp(milliseconds: 10_500))
        #expect(given(11_000) == [4])
        // Behind the snapshot: what follows an old one needs a new snapshot.
        _ = memory.add(.test(.cue, seq: 5, at: 11_000), after: 4)
        _ = memory.add(.test(.diff, seq: 6, at: 12_000), after: 5)
        #expect(given(12_000) == [4, 5, 6])
        #expect(given(20_000) == [4])
        #expect(memory.gift(for: slow, at: Timestamp(milliseconds: 20_000), canAsk: true).needsSnapshot)
        // With nobody to ask, the text of now is worth more.
        let text = memory.gift(for: slow, at: Timestamp(milliseconds: 20_000), canAsk: false)
        #expect(text.text.map(\.position.seq) == [4, 5, 6] && !text.needsSnapshot)
    }

    @Test func whoWasSilentLongestIsForgottenFirst() {
        var budget = LiveMemoryBudget(bytesMax: 800)
        let streams: [(conversation: ConversationID, bytes: Int, heardAt: Int64)] = (1...9).map {
            (ConversationID(high: 0, low: UInt64($0)), 100, Int64(10 - $0))
        }
        budget.changed(by: 800)
        #expect(budget.toForget { streams }.isEmpty)
        budget.changed(by: 100)
        #expect(budget.toForget { streams }.map(\.uuid.low) == [9, 8])
    }
}

extension RememberedPacket {
    static func test(
        _ kind: LivePacketKind, seq: Int64, line: Int = 0, generation: Int = 1, at: Int64 = 1, bytes: Int = 20
    ) -> RememberedPacket {
        RememberedPacket(
            header: LivePacketHeader(
                conversation: .test, position: LivePosition(epoch: 1, seq: seq), kind: kind, line: line,
                generation: generation),
            at: Timestamp(milliseconds: at), frame: ByteBuffer(repeating: UInt8(truncatingIfNeeded: seq), count: bytes))
    }

    fileprivate func change(_ text: inout [Int64]) {
        switch self.header.kind {
        case .snapshot: text = [self.position.seq]
        case .diff: text.append(self.position.seq)
        case .line: text = []
        case .cue: break
        }
    }
}

extension ConversationID {
    static let test = ConversationID(high: 3, low: 4)
}

extension LiveStream {
    static func test(
        epoch: Int64 = 1, content: UInt64 = 1, generation: Int = 1, state: LiveStreamState = .live,
        home: NodeID? = nil, isTranscribed: Bool = false, ending: LiveEnding? = nil, changedAt: Int64? = nil
    ) -> LiveStream {
        LiveStream(
            conversation: .test, content: state == .idle ? nil : UUIDText(high: 0, low: content), epoch: epoch,
            generation: generation, state: state, home: home, isTranscribed: isTranscribed, ending: ending,
            changedAt: Timestamp(milliseconds: changedAt ?? epoch))
    }
}
