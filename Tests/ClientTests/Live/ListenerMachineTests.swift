import Contract
import Testing

@testable import WhisperClient

/// A listener's handling of single packets (contract §14.10, §19.1 to §19.7d).
@Suite struct ListenerMachineTests {
    typealias Action = ListenerMachine.Action

    let me = PrincipalID.guest(GuestID(high: 1, low: 1))
    let other = PrincipalID.guest(GuestID(high: 1, low: 2))
    let content = UUIDText(high: 5, low: 5)
    var machine: ListenerMachine
    var now = start

    init() {
        self.machine = ListenerMachine(listener: self.me)
    }

    private func stream(_ epoch: Int64 = 3, _ content: UUIDText? = nil) -> ListenerMachine.Stream {
        .init(.live, content: content ?? self.content, epoch: epoch)
    }

    private mutating func join(seq: Int64 = 4, line: Int = 2) {
        #expect(self.machine.joining() == nil)
        #expect(
            self.machine.joined(self.stream(), seq: seq, line: line, at: self.now) == [.began(self.content)])
    }

    private func text(_ text: String) -> LiveText { LiveText(text)! }

    private func snapshot(_ text: String) -> LiveContent {
        .snapshot(self.text(text), count: text.unicodeScalars.count)
    }

    private func diff(_ offset: Int, _ text: String, _ count: Int) -> LiveContent {
        .diff([TextEdit(offset: offset, text: self.text(text))], count: count)
    }

    private mutating func receive(
        _ content: LiveContent, _ seq: Int64, epoch: Int64 = 3, line: Int = 2, generation: Int = 1,
        to: PrincipalID? = nil, opened: ListenerMachine.Opened? = nil
    ) -> [Action] {
        let header = LivePacketHeader(
            conversation: ConversationID(high: 1, low: 2), position: LivePosition(epoch: epoch, seq: seq),
            kind: content.kind, line: line, generation: generation, to: to)
        return self.machine.received(header, opened ?? .content(content), at: self.now)
    }

    /// Joined, with the text "hello" of packet 5.
    private mutating func begin() {
        self.join()
        #expect(self.receive(self.snapshot("hello"), 5) == [.text(self.text("hello"))])
        self.now += .seconds(2)
    }

    @Test mutating func diffsFollowASnapshot() {
        self.begin()
        #expect(self.receive(self.diff(4, "", 4), 6) == [.text(self.text("hell"))])
        #expect(self.receive(self.diff(4, "o 🌍", 7), 7) == [.text(self.text("hello 🌍"))])
        #expect(self.machine.nextWake == nil)
    }

    @Test mutating func whatIsNotAboveChangesNothing() {
        self.begin()
        for (seq, epoch) in [(Int64(5), Int64(3)), (4, 3), (99, 2)] {
            #expect(self.receive(self.snapshot("old"), seq, epoch: epoch) == [])
            #expect(self.receive(self.diff(0, "old", 3), seq, epoch: epoch) == [])
            #expect(self.receive(.cue(.sound(.airHorn)), seq, epoch: epoch) == [])
            // A line that is missing is put in its place all the same, and the text stays.
            let line = 2 + Int(seq)
            #expect(
                self.receive(.line(self.text("x")), seq, epoch: epoch, line: line).first == .line(line, self.text("x")))
        }
        #expect(self.machine.text == self.text("hello"))
    }

    @Test mutating func aGapIsWaitedOutAndAskedAbout() {
        self.begin()
        let position = LivePosition(epoch: 3, seq: 5)
        #expect(self.receive(self.diff(5, "!!", 7), 7) == [.resync(position, line: 2)])
        #expect(self.machine.text == self.text("hello"))
        // Once a second at most.
        #expect(self.receive(self.diff(7, "!", 8), 8) == [])
        self.now += .milliseconds(999)
        #expect(self.machine.timerFired(at: self.now) == [])
        #expect(self.machine.nextWake == self.now + .milliseconds(1))
        self.now += .milliseconds(1)
        #expect(self.machine.timerFired(at: self.now) == [.resync(position, line: 2)])
        #expect(self.receive(self.snapshot("hello!!!"), 9) == [.text(self.text("hello!!!"))])
        #expect(self.machine.nextWake == nil)
    }

    @Test mutating func aDiffFromTheBeginningNeedsNothing() {
        self.begin()
        #expect(self.receive(self.diff(0, "new", 3), 9) == [.text(self.text("new"))])
        #expect(self.machine.nextWake == nil)
    }

    @Test mutating func aLineNeedsNothingAndEmptiesTheText() {
        self.begin()
        #expect(self.receive(.line(self.text("x")), 9, line: 3) == [.line(3, self.text("x")), .text(LiveText())])
        // Again, for the transcript: it counts, and is not shown.
        #expect(self.receive(self.snapshot("y"), 10, line: 3) == [.text(self.text("y"))])
        #expect(self.receive(.line(self.text("x")), 11, line: 3) == [.text(LiveText())])
        #expect(self.receive(self.diff(0, "z", 1), 12, line: 3) == [.text(self.text("z"))])
    }

    @Test mutating func aCountThatDoesNotFitBeginsAWait() {
        self.begin()
        #expect(self.receive(self.diff(5, "!", 5), 6) == [.resync(LivePosition(epoch: 3, seq: 5), line: 2)])
        #expect(self.machine.text == self.text("hello") && self.machine.unreadable == 1)
        #expect(self.receive(self.diff(9, "!", 10), 7) == [])
        #expect(self.receive(.snapshot(self.text("x"), count: 2), 8) == [])
        #expect(self.receive(self.snapshot("x"), 9) == [.text(self.text("x"))])
    }

    @Test mutating func missingLinesAreAskedForAndThenShown() {
        self.begin()
        // Five are completed, two were before it came.
        let position = LivePosition(epoch: 3, seq: 6)
        #expect(
            self.receive(self.diff(5, "!", 6), 6, line: 5) == [.text(self.text("hello!")), .resync(position, line: 2)])
        #expect(self.receive(.line(self.text("four")), 6, line: 4, to: self.me) == [.line(4, self.text("four"))])
        #expect(self.receive(.line(self.text("four")), 6, line: 4, to: self.me) == [])
        #expect(self.receive(.line(self.text("one")), 6, line: 1, to: self.me) == [], "from before it came")
        let begun = self.now
        while self.now < begun + .milliseconds(9_999) {
            self.now = self.machine.nextWake!
            guard self.now < begun + .seconds(10) else { break }
            #expect(self.machine.timerFired(at: self.now) == [.resync(position, line: 2)])
        }
        #expect(self.machine.timerFired(at: begun + .seconds(10)) == [.missing(3...3), .missing(5...5)])
        #expect(self.machine.nextWake == nil)
        // Late is better than never.
        self.now = begun + .seconds(11)
        #expect(self.receive(.line(self.text("five")), 6, line: 5, to: self.me) == [.line(5, self.text("five"))])
    }

    @Test mutating func whatIsAddressedIsOutsideTheSequence() {
        self.begin()
        let cue = LiveCue.sound(.bikeBell)
        #expect(self.receive(.cue(cue), 5, to: self.me) == [.cue(cue)])
        #expect(self.receive(.cue(cue), 5, to: self.other) == [])
        #expect(self.receive(self.snapshot("x"), 6, to: self.me) == [])
        #expect(self.receive(.line(self.text("three")), 9, line: 3, to: self.me) == [.line(3, self.text("three"))])
        #expect(self.receive(.line(self.text("four")), 9, line: 4, to: self.other) == [])
        // Neither text nor position has moved.
        #expect(self.receive(self.diff(5, "!", 6), 6, line: 3) == [.text(self.text("hello!"))])
    }

    @Test mutating func cuesArePlayedDuringAWaitAndOnce() {
        self.begin()
        let cue = LiveCue.sound(.airHorn)
        #expect(self.receive(.cue(cue), 9) == [.cue(cue), .resync(LivePosition(epoch: 3, seq: 5), line: 2)])
        #expect(self.receive(.cue(cue), 9) == [])
        #expect(self.receive(self.snapshot("x"), 8) == [.text(self.text("x"))])
        #expect(self.receive(.cue(cue), 9) == [])
        #expect(self.machine.nextWake == nil)
    }

    @Test mutating func withoutAKeyItWaitsForIt() {
        self.begin()
        #expect(self.receive(self.snapshot("x"), 6, generation: 2, opened: .keyMissing) == [])
        self.now += .seconds(4)
        #expect(self.machine.timerFired(at: self.now) == [], "no question brings what cannot be opened")
        #expect(self.machine.keyArrived(generation: 1, at: self.now) == [])
        let position = LivePosition(epoch: 3, seq: 5)
        #expect(self.machine.keyArrived(generation: 2, at: self.now) == [.resync(position, line: 2)])
    }

    /// The frame with the key may be lost: every answer to `live_join` repeats the key.
    @Test mutating func aKeyThatDoesNotComeIsAskedFor() {
        self.begin()
        let first = self.now + ListenerMachine.keyAwaitedFor
        _ = self.receive(self.snapshot("x"), 6, generation: 2, opened: .keyMissing)
        self.now += .seconds(1)
        _ = self.receive(self.snapshot("y"), 7, generation: 2, opened: .keyMissing)
        #expect(self.machine.nextWake == first, "counted from the first packet")
        self.now = first
        #expect(self.machine.timerFired(at: self.now) == [.join])
        #expect(self.machine.timerFired(at: self.now) == [])
        #expect(self.machine.nextWake == first + ListenerMachine.keyAwaitedFor)
        _ = self.machine.keyArrived(generation: 2, at: self.now)
        self.now = first + ListenerMachine.keyAwaitedFor
        #expect(!self.machine.timerFired(at: self.now).contains(.join))
    }

    @Test mutating func whatDoesNotOpenIsCountedAndNeverShown() {
        self.begin()
        let actions = self.receive(self.snapshot("x"), 6, opened: .unreadable)
        #expect(actions == [.resync(LivePosition(epoch: 3, seq: 5), line: 2)])
        #expect(self.receive(.line(self.text("x")), 7, line: 3, opened: .unreadable) == [])
        #expect(self.machine.unreadable == 2 && self.machine.text == self.text("hello"))
    }

    @Test mutating func aHigherEpochBeginsAWaitAndItsSnapshotEndsIt() {
        self.begin()
        #expect(self.machine.changed(self.stream(4), at: self.now) == [])
        #expect(self.receive(self.diff(5, "!", 6), 6) == [.text(self.text("hello!"))], "still of the old one")
        #expect(self.receive(self.diff(6, "?", 7), 2, epoch: 4) == [])
        #expect(self.receive(self.snapshot("taken over"), 3, epoch: 4) == [.text(self.text("taken over"))])
        #expect(self.receive(self.diff(6, "?", 7), 7) == [])
        #expect(self.machine.nextWake == nil)
    }

    @Test mutating func anotherStreamBeginsAnew() {
        self.begin()
        let next = UUIDText(high: 6, low: 6)
        #expect(self.machine.changed(self.stream(4, next), at: self.now) == [.began(next)])
        #expect(self.machine.text.isEmpty)
        #expect(self.receive(self.snapshot("old"), 6) == [], "of a lower epoch")
        let first = self.text("first")
        #expect(self.receive(.line(first), 2, epoch: 4, line: 1) == [.line(1, first)])
        // A state that was overtaken.
        #expect(self.machine.changed(self.stream(3), at: self.now) == [])
        #expect(self.machine.content == next)
    }

    @Test mutating func whoComesBackSaysWhatItHas() {
        self.begin()
        _ = self.receive(.line(self.text("three")), 6, line: 3)
        self.machine.disconnected()
        #expect(self.machine.nextWake == nil)
        #expect(self.receive(self.snapshot("x"), 7) == [], "of a connection that is gone")
        #expect(
            self.machine.joining() == .init(content: self.content, position: LivePosition(epoch: 3, seq: 6), line: 3))
        #expect(self.machine.joined(self.stream(), seq: 9, line: 5, at: self.now) == [])
        // The answer brings it; if not, it asks.
        #expect(self.machine.nextWake == self.now + .seconds(1))
        #expect(self.receive(.line(self.text("four")), 7, line: 4) == [.line(4, self.text("four"))])
        #expect(self.receive(.line(self.text("five")), 8, line: 5) == [.line(5, self.text("five"))])
        #expect(self.receive(self.snapshot("x"), 9, line: 5) == [.text(self.text("x"))])
        #expect(self.machine.nextWake == nil)
    }

    @Test mutating func nobodyIsAskedWhoIsAway() {
        self.begin()
        #expect(self.machine.changed(.init(.paused, content: self.content, epoch: 3), at: self.now) == [])
        #expect(self.receive(self.diff(5, "!!", 7), 7) == [])
        #expect(self.machine.nextWake == nil)
        self.now += .seconds(3)
        #expect(self.machine.changed(self.stream(4), at: self.now) == [])
        #expect(self.machine.nextWake == self.now + .seconds(1))
    }

    @Test mutating func anIdleConversationIsJoinedAndHeardWhenItBegins() {
        #expect(self.machine.joined(.init(.idle, content: nil, epoch: 0), seq: 0, line: 0, at: self.now) == [])
        #expect(self.machine.nextWake == nil)
        #expect(self.machine.changed(self.stream(1), at: self.now) == [.began(self.content)])
        #expect(self.receive(self.snapshot("hi"), 1, epoch: 1, line: 0) == [.text(self.text("hi"))])
    }

    @Test mutating func manyGapsAreBounded() {
        self.begin()
        var missing: [ClosedRange<Int>] = []
        for number in 1...200 {
            _ = self.receive(.line(self.text("x")), 4, line: 2 * number + 2)
            missing += self.machine.timerFired(at: self.now).compactMap {
                if case .missing(let numbers) = $0 { numbers } else { nil }
            }
        }
        #expect(missing.count == 200 - LineLedger.gapsMax)
        #expect(missing.first == 3...3)
    }
}
