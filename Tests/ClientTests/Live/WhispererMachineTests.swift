import Contract
import TestKit
import Testing

@testable import WhisperClient

/// When a whisperer sends what (contract §14.9, "the whisperer's client"; §14.11, lines that are not stored).
@Suite struct WhispererMachineTests {
    typealias Packet = WhispererMachine.Packet

    let listener = PrincipalID.guest(GuestID(high: 1, low: 1))
    var machine = WhispererMachine(conversation: ConversationID(high: 1, low: 2), content: UUIDText(high: 3, low: 4))
    var now = start

    private var serverTime: Timestamp {
        Timestamp(milliseconds: 1_730_000_000_000 + (self.now - start).milliseconds)
    }

    private mutating func due() -> [Packet] { self.machine.due(at: self.now, serverTime: self.serverTime) }

    /// Packets sent until then, each at its time.
    private mutating func run(until end: ContinuousClock.Instant) -> [Packet] {
        var packets = self.due()
        while let wake = self.machine.nextWake(at: self.now), wake <= end {
            #expect(wake > self.now)
            self.now = wake
            packets += self.due()
        }
        self.now = end
        return packets
    }

    private mutating func begin(isTranscribed: Bool = false, line: Int = 0) {
        self.machine.started(
            .init(epoch: 2, generation: 1, line: line, isTranscribed: isTranscribed), at: self.now)
        #expect(self.due().map(\.header.kind) == [.snapshot])
        self.now += .seconds(1)
    }

    private mutating func type(_ text: String) { try! self.machine.edited(to: text, at: self.now) }

    private func text(_ text: String) -> LiveText { LiveText(text)! }

    @Test mutating func nothingGoesWithoutAStream() {
        self.type("hello\n")
        #expect(self.due() == [] && self.machine.nextWake(at: self.now) == nil)
        self.machine.started(.init(epoch: 2, generation: 1, line: 0, isTranscribed: false), at: self.now)
        let packets = self.run(until: self.now + .seconds(1))
        #expect(packets.map(\.header.kind) == [.snapshot, .line, .snapshot])
        #expect(packets.map(\.header.position.seq) == [1, 2, 3])
        #expect(packets.map(\.header.line) == [0, 1, 1])
    }

    @Test mutating func whatIsTypedIsGathered() {
        self.begin()
        self.type("h")
        #expect(self.due() == [])
        #expect(self.machine.nextWake(at: self.now) == self.now + .milliseconds(40))
        self.now += .milliseconds(20)
        self.type("he")
        self.now += .milliseconds(19)
        #expect(self.due() == [])
        self.now += .milliseconds(1)
        #expect(self.due().map(\.content) == [.diff([TextEdit(offset: 0, text: self.text("he"))], count: 2)])
        // Typed and taken back: nothing is sent.
        self.type("hex")
        self.type("he")
        #expect(self.run(until: self.now + .seconds(1)) == [])
    }

    @Test mutating func aSnapshotStandsBehindEachLine() {
        self.begin()
        self.type("one\ntwo\nthree")
        let packets = self.run(until: self.now + .milliseconds(500))
        #expect(
            packets.map(\.content) == [
                .line(self.text("one")), .snapshot(LiveText(), count: 0), .line(self.text("two")),
                .snapshot(self.text("three"), count: 5),
            ])
        #expect(packets.map(\.header.line) == [1, 1, 2, 2])
    }

    @Test mutating func anInterjectionBringsTheTextBack() {
        self.begin()
        self.type("I was say")
        _ = self.run(until: self.now + .milliseconds(100))
        try! self.machine.interject("one moment")
        #expect(
            self.run(until: self.now + .milliseconds(500)).map(\.content) == [
                .line(self.text("one moment")), .snapshot(self.text("I was say"), count: 9),
            ])
    }

    @Test mutating func after32DiffsASnapshotTakesTheirPlace() {
        self.begin()
        var kinds: [LivePacketKind] = []
        for count in 1...40 {
            self.type(String(repeating: "x", count: count))
            kinds += self.run(until: self.now + .milliseconds(50)).map(\.header.kind)
        }
        #expect(kinds == Array(repeating: .diff, count: 32) + [.snapshot] + Array(repeating: .diff, count: 7))
    }

    @Test mutating func after5SecondsOfTypingASnapshotGoes() {
        self.begin()
        self.type("x")
        let first = self.now + .milliseconds(40)
        #expect(self.run(until: first + .milliseconds(4_999)).map(\.header.kind) == [.diff])
        #expect(self.run(until: first + .seconds(5)).map(\.header.kind) == [.snapshot])
        #expect(self.machine.nextWake(at: self.now) == nil, "whoever rests sends nothing")
    }

    @Test mutating func aWantedSnapshotGoesAtOnce() {
        self.begin()
        self.machine.wanted(.snapshot, at: self.now)
        #expect(self.due().map(\.header.kind) == [.snapshot])
    }

    /// Also while more is typed and pasted than may go.
    @Test(arguments: Prove.seeds(0..<60)) func aWantedSnapshotIsNeverLate(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var (machine, now, audit) = (self.machine, self.now, WhispererAudit())
        machine.started(.init(epoch: 2, generation: 1, line: 0, isTranscribed: seed % 2 == 0), at: now)
        for _ in 0..<1_500 {
            now += .milliseconds(5)
            let time = Timestamp(milliseconds: 1_730_000_000_000 + (now - start).milliseconds)
            for packet in machine.due(at: now, serverTime: time) { audit.sent(packet, at: now) }
            audit.passed(now)
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<50: try? machine.edited(to: machine.text.string + "x", at: now)
            case 50..<52: try? machine.edited(to: "a\nb\nc\nd", at: now)
            case 52..<54: try? machine.play(.sound(.airHorn), to: random.next() % 2 == 0 ? nil : self.listener)
            case 54: machine.wanted(.lines(for: self.listener, from: 1, since: .init(milliseconds: 1)), at: now)
            case 55..<58:
                machine.wanted(.snapshot, at: now)
                audit.wanted(at: now)
            default: break
            }
        }
        #expect(audit.kinds[.snapshot] ?? 0 > 20 && audit.kinds[.line] ?? 0 > 5)
    }

    @Test mutating func afterAnErrorComesASnapshotAndARefusedLineAgain() {
        self.begin()
        self.type("one\ntwo")
        let packets = self.run(until: self.now + .milliseconds(200))
        let line = packets[0].header.position.seq
        self.machine.refused(seq: line, retryAfter: .seconds(2), at: self.now)
        self.type("two!")
        #expect(self.run(until: self.now + .milliseconds(1_999)) == [])
        let again = self.run(until: self.now + .seconds(1))
        #expect(
            again.map(\.content) == [
                .snapshot(self.text("two!"), count: 4), .line(self.text("one")), .snapshot(self.text("two!"), count: 4),
            ])
        #expect(again[1].header.line == 1 && again[1].header.position.seq > line)
    }

    @Test mutating func repeatedErrorsAreAnsweredEverMoreSlowly() throws {
        self.begin()
        var pauses: [Duration] = []
        for _ in 0..<8 {
            self.machine.wanted(.snapshot, at: self.now)
            let wake = try #require(self.machine.nextWake(at: self.now))
            pauses.append(wake - self.now)
            self.now = wake
            let packet = try #require(self.due().last)
            self.machine.refused(seq: packet.header.position.seq, retryAfter: nil, at: self.now)
        }
        #expect(pauses.first! == .zero && pauses[1] == .milliseconds(250) && pauses.last! == .seconds(5))
    }

    @Test mutating func aNewGenerationBeginsWithASnapshot() {
        self.begin()
        self.machine.generationChanged(to: 2)
        self.type("x")
        let packets = self.run(until: self.now + .seconds(1))
        #expect(packets.map(\.header.kind) == [.snapshot] && packets.map(\.header.generation) == [2])
        self.machine.generationChanged(to: 1)
        self.type("xy")
        #expect(self.run(until: self.now + .seconds(1)).map(\.header.generation) == [2])
    }

    /// Contract §13b: after a removal nothing goes out under a generation that the removed one has had.
    @Test mutating func whatIsTypedAfterARemovalWaitsForNewKeys() {
        self.begin()
        self.type("x")
        #expect(self.run(until: self.now + .seconds(1)).map(\.header.generation) == [1])
        self.machine.leaves(generationsBelow: 2)
        self.type("one\nxy")
        self.machine.wanted(.snapshot, at: self.now)
        self.machine.wanted(.lines(for: self.listener, from: 1, since: .init(milliseconds: 1)), at: self.now)
        #expect(self.machine.nextWake(at: self.now) == nil)
        #expect(self.run(until: self.now + .seconds(60)) == [])
        // Nor with another connection, whatever the server says of the generation.
        self.machine.started(.init(epoch: 3, generation: 1, line: 0, isTranscribed: false), at: self.now)
        #expect(self.run(until: self.now + .seconds(60)) == [])
        self.machine.generationChanged(to: 2)
        let packets = self.run(until: self.now + .seconds(1))
        #expect(
            packets.map(\.content) == [
                .snapshot(self.text("x"), count: 1), .line(self.text("one")), .snapshot(self.text("xy"), count: 2),
            ])
        #expect(packets.allSatisfy { $0.header.generation == 2 })
    }

    @Test mutating func aGenerationThatWasUsedIsTheLeastFromThenOn() {
        self.machine.started(.init(epoch: 2, generation: 4, line: 0, isTranscribed: false), at: self.now)
        self.type("x")
        #expect(self.run(until: self.now + .seconds(1)).map(\.header.generation) == [4])
        self.machine.started(.init(epoch: 3, generation: 3, line: 0, isTranscribed: false), at: self.now)
        self.type("xy")
        #expect(self.run(until: self.now + .seconds(60)) == [] && self.machine.lowestGeneration == 4)
    }

    @Test mutating func linesGoAgainToWhoMissesThemButNotThoseFromBefore() {
        self.begin()
        self.type("one\n")
        _ = self.run(until: self.now + .seconds(1))
        let since = self.serverTime
        self.type("two\nthree\n")
        let last = self.run(until: self.now + .seconds(1)).last!.header.position
        self.machine.wanted(.lines(for: self.listener, from: 1, since: since), at: self.now)
        let packets = self.run(until: self.now + .seconds(1))
        #expect(packets.map(\.content) == [.line(self.text("two")), .line(self.text("three"))])
        #expect(packets.map(\.header.line) == [2, 3])
        #expect(packets.allSatisfy { $0.header.to == self.listener && $0.header.position == last })
    }

    /// A request from before the removal arrives late, and a line already under way is not sent either.
    @Test mutating func whoIsLetInAgainGetsNoLineFromBefore() {
        self.begin()
        let since = self.serverTime
        self.type("one\n")
        _ = self.run(until: self.now + .seconds(1))
        self.machine.admits(self.listener, at: since)
        self.machine.wanted(.lines(for: self.listener, from: 1, since: since), at: self.now)
        self.machine.dismisses(self.listener)
        #expect(self.run(until: self.now + .seconds(1)) == [])
        self.machine.admits(self.listener, at: self.serverTime)
        self.machine.wanted(.lines(for: self.listener, from: 1, since: since), at: self.now)
        self.type("two\n")
        #expect(self.run(until: self.now + .seconds(1)).allSatisfy { $0.header.to == nil })
        self.machine.wanted(.lines(for: self.listener, from: 1, since: since), at: self.now)
        #expect(self.run(until: self.now + .seconds(1)).map(\.content) == [.line(self.text("two"))])
    }

    @Test mutating func typingIsNotHeldUpByLinesForOne() {
        self.begin()
        self.type(String(repeating: "line\n", count: 60))
        _ = self.run(until: self.now + .seconds(10))
        self.machine.wanted(.lines(for: self.listener, from: 1, since: .init(milliseconds: 1)), at: self.now)
        self.type("x")
        let packets = self.run(until: self.now + .milliseconds(200))
        #expect(packets.contains { $0.header.kind == .diff } && packets.contains { $0.header.to != nil })
    }

    @Test mutating func aLineThatIsNotStoredGoesAgain() {
        self.begin(isTranscribed: true)
        self.type("one\ntwo\n")
        #expect(self.run(until: self.now + .seconds(1)).count == 4)
        self.machine.stored([1])
        let packets = self.run(until: self.now + .seconds(5))
        #expect(packets.map(\.content) == [.line(self.text("two")), .snapshot(LiveText(), count: 0)])
        #expect(packets.map(\.header.line) == [2, 2] && packets.allSatisfy { $0.header.to == nil })
        // Then more slowly.
        #expect(self.run(until: self.now + .seconds(8)) == [])
        #expect(self.run(until: self.now + .seconds(4)).count == 2)
        self.machine.stored([2])
        #expect(self.machine.nextWake(at: self.now) == nil)
    }

    /// Contract §13b: listeners have it, and there is no room to keep it.
    @Test mutating func aLineThatIsNotKeptGoesNoMore() {
        self.begin(isTranscribed: true)
        self.type("one\ntwo\n")
        _ = self.run(until: self.now + .seconds(1))
        let stored = LiveLineStored(
            conversation: ConversationID(high: 1, low: 1), content: .random(), lines: [1], notKept: [2])
        self.machine.stored(stored.told)
        #expect(self.machine.nextWake(at: self.now) == nil)
        #expect(self.run(until: self.now + .seconds(60)) == [])
    }

    @Test mutating func withoutATranscriptNoLineGoesAgain() {
        self.begin()
        self.type("one\n")
        #expect(self.run(until: self.now + .seconds(60)).count == 2)
    }

    @Test mutating func whoResumesGoesOnWithItsNumbers() {
        self.begin(isTranscribed: true)
        self.type("one\ntwo\nthr")
        _ = self.run(until: self.now + .seconds(1))
        self.machine.stored([1])
        self.machine.stopped()
        #expect(self.machine.nextWake(at: self.now) == nil)
        self.type("three\n")
        self.machine.started(.init(epoch: 5, generation: 1, line: 1, isTranscribed: true), at: self.now)
        let packets = self.run(until: self.now + .seconds(2))
        #expect(packets.first?.header.kind == .snapshot && packets.first?.header.position == .init(epoch: 5, seq: 1))
        let lines = packets.filter { $0.header.kind == .line }
        #expect(Set(lines.map(\.header.line)) == [2, 3])
    }

    @Test mutating func storedLinesOfAnotherDeviceAreCountedOn() {
        self.begin(line: 17)
        self.type("one\n")
        #expect(self.run(until: self.now + .seconds(1)).map(\.header.line) == [18, 18])
    }

    @Test mutating func tooMuchAtOnceIsNotTaken() {
        self.type("before")
        #expect(throws: WhispererMachine.Full()) {
            try self.machine.edited(to: String(repeating: "\n", count: WhispererMachine.queueMax + 1), at: self.now)
        }
        #expect(self.machine.text == self.text("before"))
    }

    @Test(arguments: Prove.seeds(0..<50)) func packetsAreSpaced(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var pace = PacketPace()
        var sent: [ContinuousClock.Instant] = []
        var now = start
        for _ in 0..<300 {
            let count = Int.random(in: 1...2, using: &random)
            if Int.random(in: 0..<4, using: &random) == 0 { now += .milliseconds(.random(in: 0...900, using: &random)) }
            let earliest = pace.earliest(count) ?? now
            #expect(earliest <= now + .milliseconds(160), "nothing waits long")
            now = max(now, earliest)
            pace.went(count, at: now)
            sent += Array(repeating: now, count: count)
            #expect(sent.count { $0 > now - .seconds(1) } <= LiveLimits.packetsPerSecondMax)
        }
    }
}
