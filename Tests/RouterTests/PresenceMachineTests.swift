import Contract
import Testing
import TestKit

@testable import RouterCore

@Suite struct PresenceMachineTests {
    private let alice = identity(1)
    private let bob = identity(2)

    @Test func whoeverComesIsToldOnceAndAtOnce() {
        var machine = PresenceMachine(contract)
        machine.came(self.alice, at: 1_000)
        #expect(machine.changes(at: 1_000) == [.init(identity: self.alice, state: .online)])
        #expect(machine.changes(at: 90_000).isEmpty)
        #expect(machine.pendingTransitions == 0)
    }

    @Test func offlineIsToldAfterTheAbsenceWithTheTimeOfLeaving() {
        var machine = PresenceMachine(contract)
        machine.left(self.alice, at: 100_000)
        #expect(machine.changes(at: 114_999).isEmpty)
        #expect(machine.isOnline(self.alice, hasSession: false))
        let state = PresenceState.offline(lastSeen: Timestamp(milliseconds: 100_000))
        #expect(machine.changes(at: 115_000) == [.init(identity: self.alice, state: state)])
        #expect(!machine.isOnline(self.alice, hasSession: false))
    }

    @Test func aQuickReturnTellsNobody() {
        var machine = PresenceMachine(contract)
        machine.left(self.alice, at: 100_000)
        machine.came(self.alice, at: 114_999)
        #expect(machine.changes(at: 115_000).isEmpty)
        #expect(machine.changes(at: 200_000).isEmpty)
        #expect(machine.pendingTransitions == 0)
    }

    /// Contract §13: delayed to the end of the 30 s, the latest state only, and none if it was told last.
    @Test func changesWithinThePauseAreToldAtItsEnd() {
        var machine = PresenceMachine(contract)
        machine.came(self.alice, at: 0)
        machine.came(self.bob, at: 0)
        #expect(machine.changes(at: 0).count == 2)
        machine.left(self.alice, at: 5_000)
        machine.left(self.bob, at: 5_000)
        machine.came(self.bob, at: 25_000)
        #expect(machine.changes(at: 29_999).isEmpty)
        #expect(machine.changes(at: 30_000).map(\.identity) == [self.alice])
    }

    @Test func nobodyIsToldBeforeItIsAllowed() {
        var machine = PresenceMachine(contract)
        machine.came(self.alice, at: 0, notBefore: 15_000)
        #expect(machine.changes(at: 14_999).isEmpty)
        #expect(machine.changes(at: 15_000).count == 1)
    }

    /// Somebody who was taken for gone, because nobody heard a gateway for a moment.
    @Test func whoeverIsAnnouncedWasNotAway() {
        var machine = PresenceMachine(contract)
        machine.left(self.alice, at: 0)
        machine.announced(self.alice)
        machine.announced(self.bob)
        #expect(machine.changes(at: 60_000).isEmpty)
        #expect(machine.pendingTransitions == 0)
    }

    @Test func anotherRouterGoesOnWhereThisOneStopped() {
        var machine = PresenceMachine(contract)
        machine.left(self.alice, at: 0)
        machine.left(self.bob, at: 0)
        let transitions = machine.keep { $0 == self.bob }
        #expect(machine.pendingTransitions == 1)
        var successor = PresenceMachine(contract)
        successor.inherit(transitions)
        let state = PresenceState.offline(lastSeen: Timestamp(milliseconds: 0))
        #expect(successor.changes(at: 15_000) == [.init(identity: self.alice, state: state)])
    }

    @Test func whatCouldNotBeToldIsDueAgain() {
        var machine = PresenceMachine(contract)
        machine.came(self.alice, at: 0)
        let changes = machine.changes(at: 0)
        machine.untold(changes)
        #expect(machine.changes(at: 1) == changes)
    }

    @Test func beyondItsBoundItTellsNobody() {
        var machine = PresenceMachine(contract, entriesMax: 1)
        machine.came(self.alice, at: 0)
        machine.came(self.bob, at: 0)
        #expect(machine.changes(at: 0).map(\.identity) == [self.alice])
    }

    @Test func aRoundTellsNoMoreThanItIsAskedTo() {
        var machine = PresenceMachine(contract)
        for number in 1...10 { machine.came(identity(UInt64(number)), at: 0) }
        #expect(machine.changes(at: 0, limit: 4).count == 4)
        #expect(machine.changes(at: 0, limit: 4).count == 4)
        #expect(machine.changes(at: 0, limit: 4).count == 2)
    }

    /// For any events: never two updates within the pause, never the same twice, never offline within the time of
    /// absence. In the end the last update is true.
    @Test(arguments: Prove.seeds(0..<200)) func keepsItsPromisesWhateverHappens(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var machine = PresenceMachine(contract)
        let people = (1...4).map { identity($0) }
        var isPresent: [WhisperID: Bool] = [:]
        var leftAt: [WhisperID: Int64] = [:]
        var told: [WhisperID: (state: Bool, at: Int64)] = [:]
        var now: Int64 = 1_000_000

        func look() {
            for change in machine.changes(at: now) {
                let isOnline = change.state == .online
                let last = told[change.identity]
                #expect(last == nil ? isOnline : last!.state != isOnline)
                if let last { #expect(now - last.at >= 30_000) }
                #expect(isPresent[change.identity] == isOnline)
                if !isOnline { #expect(now - leftAt[change.identity]! >= 15_000) }
                told[change.identity] = (isOnline, now)
            }
        }

        for _ in 0..<300 {
            now += Int64.random(in: 1...9_000, using: &random)
            let person = people.randomElement(using: &random)!
            switch Int.random(in: 0..<3, using: &random) {
            case 0:
                // A session that is replaced by another is not reported.
                guard isPresent[person] != true else { break }
                machine.came(person, at: now)
                isPresent[person] = true
            case 1:
                guard isPresent[person] == true else { break }
                machine.left(person, at: now)
                isPresent[person] = false
                leftAt[person] = now
            default: look()
            }
        }
        for _ in 0..<4 {
            now += 30_000
            look()
        }
        for person in people where isPresent[person] != nil {
            #expect((told[person]?.state ?? false) == isPresent[person])
        }
        #expect(machine.pendingTransitions == 0)
    }
}

let contract = PresenceConfiguration()

func identity(_ number: UInt64) -> WhisperID { WhisperID(bits: number)! }
