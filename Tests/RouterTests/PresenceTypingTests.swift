import Contract
import Testing
import TestKit

@testable import RouterCore

@Suite struct TypingMachineTests {
    private let pair = PeerPair(from: identity(1), to: identity(2))

    @Test func theFirstWaitsForTheLookupAndTheOthersDoNot() {
        var machine = TypingMachine(contract)
        #expect(machine.heard(true, self.pair, at: 0) == .lookUp)
        #expect(machine.lookedUp(self.pair, isPeer: true, at: 100) == true)
        #expect(machine.heard(false, self.pair, at: 2_000) == .tell)
        #expect(machine.heard(true, self.pair, at: 60_100) == .lookUp)
    }

    @Test func moreThanOneInThePauseIsDropped() {
        var machine = TypingMachine(contract)
        _ = machine.heard(true, self.pair, at: 0)
        _ = machine.lookedUp(self.pair, isPeer: true, at: 0)
        #expect(machine.heard(true, self.pair, at: 1_999) == .drop)
        #expect(machine.heard(true, self.pair, at: 2_000) == .tell)
        #expect(machine.heard(true, self.pair, at: 3_999) == .drop)
    }

    @Test func strangersAreDroppedAndLookedUpAgainSoon() {
        var machine = TypingMachine(contract)
        #expect(machine.heard(true, self.pair, at: 0) == .lookUp)
        #expect(machine.lookedUp(self.pair, isPeer: false, at: 0) == nil)
        #expect(machine.heard(true, self.pair, at: 2_000) == .drop)
        #expect(machine.heard(true, self.pair, at: 5_000) == .lookUp)
    }

    @Test func itsMemoryHasABoundAndAnEnd() {
        var machine = TypingMachine(contract, pairsMax: 1)
        _ = machine.heard(true, self.pair, at: 0)
        #expect(machine.heard(true, PeerPair(from: identity(3), to: identity(2)), at: 0) == .drop)
        _ = machine.lookedUp(self.pair, isPeer: true, at: 0)
        machine.forget(at: 59_999)
        #expect(machine.pairs == 1)
        machine.forget(at: 60_000)
        #expect(machine.pairs == 0)
    }

    /// For any typing and any delay of the lookup: one pair sees no two notifications within the pause.
    @Test(arguments: Prove.seeds(0..<100)) func noPairSeesTwoWithinThePause(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var machine = TypingMachine(contract)
        let pairs = [self.pair, PeerPair(from: identity(3), to: identity(2))]
        var takenAt: [PeerPair: Int64] = [:]
        var lookups: Set<PeerPair> = []
        var now: Int64 = 0
        for _ in 0..<500 {
            now += Int64.random(in: 1...1_500, using: &random)
            for pair in lookups where Bool.random(using: &random) {
                lookups.remove(pair)
                _ = machine.lookedUp(pair, isPeer: Bool.random(using: &random), at: now)
            }
            let pair = pairs.randomElement(using: &random)!
            let action = machine.heard(Bool.random(using: &random), pair, at: now)
            if action == .drop { continue }
            if let last = takenAt[pair] { #expect(now - last >= 2_000) }
            takenAt[pair] = now
            if action == .lookUp { lookups.insert(pair) }
            if Int.random(in: 0..<20, using: &random) == 0 { machine.forget(at: now) }
        }
    }
}

@Suite struct WrittenPairsTests {
    private let pair = PeerPair(from: identity(1), to: identity(2))

    @Test func aPairIsWrittenOnceADayAndEachDirectionByItself() {
        var written = WrittenPairs()
        #expect(!written.contains(self.pair, at: 0))
        written.insert(self.pair, at: 0)
        #expect(written.contains(self.pair, at: 80_000_000))
        #expect(!written.contains(PeerPair(from: self.pair.to, to: self.pair.from), at: 0))
        #expect(!written.contains(self.pair, at: 86_400_000))
    }

    @Test func itHoldsNoMoreThanItsBound() {
        var written = WrittenPairs(pairsMax: 100)
        for number in 1...10_000 {
            written.insert(PeerPair(from: identity(UInt64(number)), to: identity(1)), at: 0)
            #expect(written.pairs <= 100)
        }
        #expect(written.contains(PeerPair(from: identity(10_000), to: identity(1)), at: 0))
    }
}
