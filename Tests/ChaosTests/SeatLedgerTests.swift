import Chaos
import Testing

/// The judge of rooms, judged by made-up histories.
@Suite struct SeatLedgerTests {
    private let ledger = SeatLedger()

    private func shown(_ revision: Int64, _ holders: [Int: String], most: Int = 2) {
        self.ledger.shown("r", revision: revision, holders, most: most, to: "anna")
    }

    @Test func whatGoesWellIsNoFault() {
        self.shown(1, [1: "anna"])
        self.shown(2, [1: "anna", 2: "bert"])
        self.shown(3, [1: "anna"])
        self.shown(4, [1: "anna", 3: "bert again"])
        // A list that comes late shows an older state.
        self.shown(2, [1: "anna", 2: "bert"])
        self.ledger.takes("offer 1", by: "bert")
        self.ledger.takes("offer 2", by: "bert")
        self.ledger.takes("offer 1", by: "anna")
        self.ledger.connected()
        #expect(self.ledger.faults() == [])
        let count = self.ledger.count
        #expect(count.seats == 3 && count.descriptions == 3 && count.connections == 1)
    }

    @Test func aSeatIsGivenOnce() {
        self.shown(2, [1: "anna", 2: "bert"])
        self.shown(4, [1: "anna", 2: "carol"])
        #expect(self.ledger.faults() == ["seat given twice: 2 of r, to bert and carol"])
    }

    @Test func aSeatThatIsGoneStaysGone() {
        self.shown(2, [1: "anna", 2: "bert"])
        self.shown(3, [1: "anna"])
        self.shown(4, [1: "anna", 2: "bert"])
        #expect(self.ledger.faults() == ["seat comes back: 2 of r, as anna sees it"])
    }

    @Test func noMoreThanTheRoomTakes() {
        self.shown(3, [1: "anna", 2: "bert", 3: "carol"])
        #expect(self.ledger.faults() == ["too many: anna sees 3 in r"])
    }

    @Test func aDescriptionIsTakenOnce() {
        self.ledger.takes("offer 1", by: "bert")
        self.ledger.takes("offer 1", by: "bert")
        #expect(self.ledger.faults() == ["signal twice: bert is to take offer 1"])
    }
}
