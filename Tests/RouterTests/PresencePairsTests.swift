import Contract
import Testing
import TestKit

@testable import RouterCore

@Suite struct PresencePairsTests {
    private let alice = identity(1)
    private let bob = identity(2)
    private let gone = PresenceState.offline(lastSeen: Timestamp(milliseconds: 7))

    @Test func theFirstNewsIsToldAtOnceAndTheNextAtTheEndOfThePause() {
        var pairs = PresencePairs(contract)
        #expect(pairs.heard(.online, about: self.bob, by: self.alice, at: 0) == true)
        #expect(pairs.heard(self.gone, about: self.bob, by: self.alice, at: 10_000) == false)
        #expect(pairs.due(at: 29_999).isEmpty)
        #expect(pairs.due(at: 30_000) == [.init(listener: self.alice, about: self.bob, state: self.gone)])
        #expect(pairs.due(at: 60_000).isEmpty)
        #expect(pairs.pairs == 0)
    }

    @Test func theStateThatWasToldLastIsNotToldAgain() {
        var pairs = PresencePairs(contract)
        #expect(pairs.heard(.online, about: self.bob, by: self.alice, at: 0) == true)
        #expect(pairs.heard(self.gone, about: self.bob, by: self.alice, at: 10_000) == false)
        #expect(pairs.heard(.online, about: self.bob, by: self.alice, at: 20_000) == false)
        #expect(pairs.due(at: 30_000).isEmpty)
    }

    @Test func aNewConnectionIsToldAgainButNotEarlier() {
        var pairs = PresencePairs(contract)
        #expect(pairs.heard(.online, about: self.bob, by: self.alice, at: 0) == true)
        pairs.bound(self.alice)
        #expect(pairs.heard(.online, about: self.bob, by: self.alice, at: 1_000) == false)
        #expect(pairs.due(at: 30_000) == [.init(listener: self.alice, about: self.bob, state: .online)])
    }

    @Test func whoeverComesFromAnotherRouterIsNotToldAtOnce() {
        var pairs = PresencePairs(contract)
        pairs.inherited(self.alice, at: 0)
        #expect(pairs.heard(self.gone, about: self.bob, by: self.alice, at: 10_000) == false)
        #expect(pairs.due(at: 30_000).isEmpty)
        #expect(pairs.due(at: 40_000).count == 1)
        #expect(pairs.heard(self.gone, about: identity(3), by: self.alice, at: 40_000) == true)
    }

    @Test func beyondTheirBoundNobodyIsTold() {
        var pairs = PresencePairs(contract, pairsMax: 1)
        #expect(pairs.heard(.online, about: self.bob, by: self.alice, at: 0) == true)
        #expect(pairs.heard(.online, about: self.alice, by: self.bob, at: 0) == false)
        #expect(pairs.due(at: 30_000).isEmpty)
        #expect(pairs.heard(.online, about: self.alice, by: self.bob, at: 30_000) == true)
    }

    @Test func listenersOfAnotherRouterAreForgotten() {
        var pairs = PresencePairs(contract)
        _ = pairs.heard(.online, about: self.bob, by: self.alice, at: 0)
        _ = pairs.heard(.online, about: self.alice, by: self.bob, at: 0)
        pairs.keep { $0 == self.alice }
        #expect(pairs.pairs == 1)
        _ = pairs.due(at: 30_000)
        #expect(pairs.pairs == 0)
    }

    /// For any events: never two updates within the pause, never the same twice on one connection. In the end the listener
    /// has the last state.
    @Test(arguments: Prove.seeds(0..<200)) func keepTheirPromisesWhateverTheNews(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var pairs = PresencePairs(contract)
        let people = (1...4).map { identity($0) }
        var said: [PeerPair: PresenceState] = [:]
        var told: [PeerPair: (state: PresenceState, at: Int64, connection: Int)] = [:]
        var connections: [WhisperID: Int] = [:]
        var now: Int64 = 0

        func tell(_ state: PresenceState, about: WhisperID, to listener: WhisperID) {
            let pair = PeerPair(from: about, to: listener)
            let connection = connections[listener, default: 0]
            if let last = told[pair] {
                #expect(now - last.at >= 30_000)
                if last.connection == connection { #expect((last.state == .online) != (state == .online)) }
            }
            told[pair] = (state, now, connection)
        }
        func look() {
            for update in pairs.due(at: now) { tell(update.state, about: update.about, to: update.listener) }
        }

        for _ in 0..<400 {
            now += Int64.random(in: 1...5_000, using: &random)
            let (about, listener) = (people.randomElement(using: &random)!, people.randomElement(using: &random)!)
            switch Int.random(in: 0..<8, using: &random) {
            case 0:
                pairs.bound(listener)
                connections[listener, default: 0] += 1
                // A listener that connects is told of peers that are online.
                for (pair, state) in said where pair.to == listener && state == .online {
                    if pairs.heard(.online, about: pair.from, by: listener, at: now) {
                        tell(.online, about: pair.from, to: listener)
                    }
                }
            case 1...3: look()
            default:
                // Its router tells changes only.
                let pair = PeerPair(from: about, to: listener)
                let state: PresenceState =
                    said[pair] == .online ? .offline(lastSeen: Timestamp(milliseconds: now)) : .online
                said[pair] = state
                if pairs.heard(state, about: about, by: listener, at: now) { tell(state, about: about, to: listener) }
            }
        }
        for _ in 0..<3 {
            now += 30_000
            look()
        }
        for (pair, state) in said { #expect((told[pair]?.state == .online) == (state == .online)) }
        #expect(pairs.pairs == 0)
    }
}
