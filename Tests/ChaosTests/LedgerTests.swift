import Chaos
import Testing

/// The judge of the crash tests, judged by made-up histories.
@Suite struct LedgerTests {
    private let ledger = Ledger()

    @Test func whatGoesWellIsNoFault() {
        self.send("a", "b")
        self.accept("a", "b")
        self.deliver("a", "b")
        #expect(self.faults() == [])
        #expect(self.ledger.count.told == 2)
    }

    @Test func whatWasAcceptedAndNeverArrivedIsLost() {
        self.send("a", "b")
        self.accept("a")
        #expect(self.faults() == ["lost: a to bob"])
    }

    @Test func whatItsSenderKnowsToBeExpiredIsNotLost() {
        self.send("a")
        self.accept("a")
        self.ledger.expired(Self.letter("a"))
        #expect(self.faults() == [])
    }

    @Test func envelopesOfOneGroupMessageAreLettersEach() {
        for member in ["bob", "carol"] {
            self.ledger.sends(Letter("a", to: member), from: "alice", on: 1)
            self.ledger.accepted(Letter("a", to: member))
        }
        self.deliver("a")
        #expect(self.faults() == ["lost: a to carol"])
    }

    @Test func anAcknowledgementThatNeverCameBackIsUntold() {
        self.send("a")
        self.arrive("a")
        #expect(self.faults() == ["untold: a to bob"])
    }

    @Test func hearingOfLessThanWasSaidIsUntold() {
        self.send("a")
        self.ledger.arrived(Self.letter("a"), from: "alice", .live(openedAt: 0), mark: .read)
        self.ledger.told(Self.letter("a"), .delivered)
        #expect(self.faults() == ["untold: a to bob is read, and its sender knows delivered"])
        self.ledger.told(Self.letter("a"), .read)
        #expect(self.faults() == [])
    }

    @Test func aDeliveryThatNobodySawIsMadeUp() {
        self.send("a")
        self.ledger.told(Self.letter("a"))
        #expect(self.faults() == ["made up: a to bob was never delivered"])
    }

    @Test func aRepetitionIsAFaultOnlyOnceItsReceiptWasHonoured() {
        self.send("a")
        let early = self.ledger.now
        for _ in 0..<2 { self.arrive("a") }
        self.ledger.told(Self.letter("a"))
        self.arrive("a", .page(askedAt: early))
        self.arrive("a")
        #expect(self.faults(onTheWay: .seconds(60)) == [])
        #expect(self.faults().count == 1)
        self.arrive("a", .page(askedAt: self.ledger.now))
        #expect(self.faults(onTheWay: .seconds(60)).count == 1)
    }

    @Test func nothingOldIsOnItsWayOnANewConnection() {
        self.send("a")
        self.deliver("a")
        self.arrive("a", .live(openedAt: self.ledger.now))
        #expect(self.faults(onTheWay: .seconds(60)).count == 1)
    }

    @Test func anAnswerBeforeTheNextIsSentFixesTheOrder() {
        self.send("a")
        self.accept("a")
        self.send("b", on: 2)
        self.accept("b")
        self.deliver("b", "a")
        #expect(self.faults().count == 1)
    }

    @Test func oneConnectionFixesTheOrderUnlessSomethingWasSentAgain() {
        self.send("a", "b", "c")
        self.send("c")
        self.accept("a", "b", "c")
        self.deliver("c", "b", "a")
        // Only the pair of a and b counts.
        #expect(self.faults() == ["out of order (alice): b to bob before a to bob"])
    }

    @Test func mailForSomebodyElseIsAFault() {
        self.send("a")
        self.ledger.arrived(Letter("a", to: "carol"), from: "alice", .live(openedAt: 0))
        #expect(self.faults().count == 1)
    }

    @Test func whoIsFetchedAlthoughMailWaitedWasNotWoken() {
        self.send("a")
        self.ledger.fetched("bob")
        #expect(self.faults() == [])
        self.accept("a")
        self.ledger.fetched("bob")
        self.deliver("a")
        #expect(self.faults() == ["not woken: bob, for whom 1 wait, such as a"])
        self.ledger.fetched("bob")
        #expect(self.faults().count == 1)
    }

    @Test func aSessionRefusedWhileClocksAreRightIsLost() {
        self.ledger.clockMoved(isOff: true)
        self.ledger.sessionRefused("alice", "NOT_REGISTERED")
        #expect(self.faults() == [] && self.ledger.count.refusedByClocks == 1)
        let ledger = Ledger()
        ledger.sessionRefused("bob", "NOT_REGISTERED")
        #expect(ledger.faults(onTheWay: .zero) == ["session lost: bob, NOT_REGISTERED"])
    }

    @Test func onlyWhoIsThereCanGetALetterLate() {
        self.send("a")
        self.ledger.leaves("alice")
        self.ledger.comes("alice")
        self.arrive("a")
        self.send("b")
        self.arrive("b")
        self.ledger.leaves("bob")
        self.send("c")
        self.arrive("c")
        #expect(self.ledger.liveTravelTimes.count == 1)
        #expect(self.ledger.slowestLive?.hasPrefix("b to bob from alice, attempts: 1") == true)
    }

    // MARK: A history

    private static func letter(_ id: String) -> Letter { Letter(id, to: "bob") }

    private func faults(onTheWay: Duration = .zero) -> [String] { self.ledger.faults(onTheWay: onTheWay) }

    private func send(_ ids: String..., on connection: Int = 1) {
        for id in ids { self.ledger.sends(Self.letter(id), from: "alice", on: connection) }
    }

    private func accept(_ ids: String...) { for id in ids { self.ledger.accepted(Self.letter(id)) } }

    private func arrive(_ id: String, _ way: Ledger.Way = .live(openedAt: 0)) {
        self.ledger.arrived(Self.letter(id), from: "alice", way)
    }

    private func deliver(_ ids: String...) {
        for id in ids {
            self.arrive(id)
            self.ledger.told(Self.letter(id))
        }
    }
}
