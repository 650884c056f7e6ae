import Chaos
import Testing

/// The judge of live conversations, judged by made-up histories.
@Suite struct LineLedgerTests {
    private let ledger = LineLedger()
    private let bob = LineLedger.Visit("bob", to: "c")
    private let carol = LineLedger.Visit("carol", to: "c")

    private func listen(_ visits: LineLedger.Visit...) {
        for visit in visits {
            self.ledger.asks(visit)
            self.ledger.joined(visit)
        }
    }

    private func say(_ line: String, to visits: LineLedger.Visit...) {
        self.ledger.typed(line, in: "c")
        for visit in visits { self.ledger.shown(line, to: visit) }
    }

    @Test func whatGoesWellIsNoFault() {
        self.listen(self.bob)
        self.say("one", to: self.bob)
        self.listen(self.carol)
        self.say("two", to: self.bob, self.carol)
        #expect(self.ledger.faults() == [])
        let count = self.ledger.count
        #expect(count.typed == 2 && count.shown == 3 && count.missing == 0 && count.visits == 2)
    }

    @Test func whatWasTypedAndNeverShownIsLost() {
        self.listen(self.bob)
        self.say("one")
        self.say("two", to: self.bob)
        #expect(self.ledger.lost(self.bob) == ["one"])
        #expect(self.ledger.faults() == ["line lost: one for bob, visit 1 to c"])
    }

    @Test func whatIsToldAsMissingIsNotLost() {
        self.listen(self.bob)
        self.say("one")
        self.ledger.missing(1, of: self.bob)
        #expect(self.ledger.faults() == [])
        self.say("two")
        #expect(self.ledger.faults().count == 1)
    }

    /// They may have been on their way, or asked for.
    @Test func ofAVisitThatHasEndedNoLineIsExpected() {
        self.listen(self.bob)
        self.say("one")
        self.say("two", to: self.bob)
        self.say("three")
        self.ledger.ends(self.bob)
        self.say("four")
        #expect(self.ledger.faults() == [])
    }

    @Test func whatIsShownTwiceIsAFault() {
        self.listen(self.bob)
        self.say("one", to: self.bob, self.bob)
        #expect(self.ledger.faults() == ["line twice: bob, visit 1 to c was shown one"])
    }

    /// A line that another visitor was shown before this visit began is a fault.
    @Test func whatWasShownBeforeAVisitBeganIsFromBefore() {
        self.listen(self.bob)
        self.say("one", to: self.bob)
        self.listen(self.carol)
        self.ledger.shown("one", to: self.carol)
        #expect(self.ledger.faults() == ["line from before: carol, visit 1 to c was shown one"])
    }

    @Test func whoIsOutReadsNothingThatIsTypedAfterwards() {
        self.listen(self.bob)
        self.ledger.typed("one", in: "c")
        self.ledger.ends(self.bob)
        self.ledger.isOut(self.bob)
        self.ledger.shown("one", to: self.bob)
        self.say("two", to: self.bob)
        #expect(self.ledger.faults() == ["line read after removal: bob, visit 1 to c was shown two"])
    }

    @Test func linesOfOthersAreForeign() {
        self.listen(self.bob)
        self.ledger.typed("one", in: "d")
        self.ledger.shown("one", to: self.bob)
        self.ledger.shown("two", to: self.bob)
        #expect(self.ledger.faults().count == 2 && self.ledger.faults().allSatisfy { $0.hasPrefix("foreign line") })
    }

    @Test func whatIsRemarkedIsAFault() {
        self.ledger.remark("refused")
        #expect(self.ledger.faults() == ["refused"])
    }
}
