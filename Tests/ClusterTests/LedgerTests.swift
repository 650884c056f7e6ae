import Testing

/// The judge of the crash tests, judged.
@Suite struct LedgerTests {
    private let ledger = Ledger()

    @Test func whatGoesWellIsNoFault() {
        self.send("a", "b")
        self.ledger.accepted("a")
        self.ledger.accepted("b")
        self.deliver("a", "b")
        #expect(self.ledger.faults(onTheWay: .zero) == [])
        #expect(self.ledger.count.told == 2)
    }

    @Test func whatWasAcceptedAndNeverArrivedIsLost() {
        self.send("a", "b")
        self.ledger.accepted("a")
        #expect(self.ledger.faults(onTheWay: .zero) == ["lost: a"])
    }

    @Test func anAcknowledgementThatNeverCameBackIsUntold() {
        self.send("a")
        self.ledger.arrived("a", from: "alice", at: "bob", .live)
        #expect(self.ledger.faults(onTheWay: .zero) == ["untold: a"])
    }

    @Test func aRepetitionIsAFaultOnlyOnceItsReceiptWasHonoured() {
        self.send("a")
        let early = self.ledger.now
        for _ in 0..<2 { self.ledger.arrived("a", from: "alice", at: "bob", .live) }
        self.ledger.delivered("a")
        self.ledger.arrived("a", from: "alice", at: "bob", .page(askedAt: early))
        self.ledger.arrived("a", from: "alice", at: "bob", .live)
        #expect(self.ledger.faults(onTheWay: .seconds(60)) == [])
        #expect(self.ledger.faults(onTheWay: .zero).count == 1)
        self.ledger.arrived("a", from: "alice", at: "bob", .page(askedAt: self.ledger.now))
        #expect(self.ledger.faults(onTheWay: .seconds(60)).count == 1)
    }

    @Test func anAnswerBeforeTheNextIsSentFixesTheOrder() {
        self.send("a")
        self.ledger.accepted("a")
        self.send("b", on: 2)
        self.ledger.accepted("b")
        self.deliver("b", "a")
        #expect(self.ledger.faults(onTheWay: .zero).count == 1)
    }

    @Test func oneConnectionFixesTheOrderUnlessSomethingWasSentAgain() {
        self.send("a", "b", "c")
        self.send("c")
        for id in ["a", "b", "c"] { self.ledger.accepted(id) }
        self.deliver("c", "b", "a")
        // Of the three pairs only a and b count.
        #expect(self.ledger.faults(onTheWay: .zero) == ["out of order (alicebob): b before a"])
    }

    @Test func mailForSomebodyElseIsAFault() {
        self.send("a")
        self.ledger.arrived("a", from: "alice", at: "carol", .live)
        #expect(self.ledger.faults(onTheWay: .zero).count == 1)
    }

    private func send(_ ids: String..., on connection: Int = 1) {
        for id in ids { self.ledger.sends(id, from: "alice", to: "bob", on: connection) }
    }

    private func deliver(_ ids: String...) {
        for id in ids {
            self.ledger.arrived(id, from: "alice", at: "bob", .live)
            self.ledger.delivered(id)
        }
    }
}
