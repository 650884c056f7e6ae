import Contract
import Synchronization
import TestKit
import Testing

@testable import WhisperClient

let start = ContinuousClock.now
let bobID = WhisperID("WSP-F4YH-3J4Z-7RP7")!
let carolID = WhisperID("WSP-AAAA-AAAA-AAAA")!

@Suite struct OutboxMachineTests {
    var random = SeededGenerator(seed: 1)
    var machine = OutboxMachine<UUIDText>()
    let first = UUIDText.random()
    let second = UUIDText.random()

    @Test mutating func nothingGoesWithoutASession() {
        self.machine.queued(self.first, to: bobID)
        #expect(self.machine.due(at: start) == [])
        self.machine.online()
        #expect(self.machine.due(at: start) == [self.first])
        #expect(self.machine.due(at: start) == [])
    }

    @Test mutating func aConversationKeepsItsOrder() {
        let other = UUIDText.random()
        self.machine.queued(self.first, to: bobID)
        self.machine.queued(self.second, to: bobID)
        self.machine.queued(other, to: carolID)
        self.machine.online()
        #expect(self.machine.due(at: start) == [self.first, other])
        let verdict = self.machine.refused(self.first, .internalError, retryAfter: nil, at: start, using: &self.random)
        #expect(verdict == .again(self.first, attempts: 1))
        // The second waits behind the first, however long that takes.
        #expect(self.machine.due(at: start) == [])
        #expect(self.machine.due(at: start + .seconds(60)) == [self.first])
        self.machine.settled(self.first)
        #expect(self.machine.due(at: start + .seconds(60)) == [self.second])
    }

    @Test mutating func theServersSilenceIsKept() {
        self.machine.queued(self.first, to: bobID)
        self.machine.queued(self.second, to: carolID)
        self.machine.online()
        _ = self.machine.due(at: start)
        let verdict = self.machine.refused(
            self.first, .rateLimited, retryAfter: .seconds(20), at: start, using: &self.random)
        #expect(verdict == .again(self.first, attempts: 1))
        self.machine.settled(self.second)
        self.machine.queued(self.second, to: carolID)
        #expect(self.machine.due(at: start + .seconds(19)) == [])
        #expect(Set(self.machine.due(at: start + .seconds(20))) == [self.first, self.second])
    }

    @Test(arguments: [
        (ErrorCode.notFound, FailureReason.noSuchPerson), (.forbidden, .forbidden), (.invalidPayload, .rejected),
        (.authFailed, .rejected),
    ])
    func otherErrorsAreFinal(code: ErrorCode, reason: FailureReason) {
        var (machine, random) = (self.machine, self.random)
        machine.queued(self.first, to: bobID)
        machine.online()
        _ = machine.due(at: start)
        let verdict = machine.refused(self.first, code, retryAfter: nil, at: start, using: &random)
        #expect(verdict == .giveUp(self.first, reason))
        #expect(machine.isEmpty)
        #expect(machine.refused(self.first, code, retryAfter: nil, at: start, using: &random) == .ignore)
    }

    /// A ban gives nothing up: the connection ends, and nothing goes before the person has decided.
    @Test mutating func whatABanHoldsBackWaitsForThePerson() {
        self.machine.queued(self.first, to: bobID)
        self.machine.online()
        _ = self.machine.due(at: start)
        #expect(
            self.machine.refused(self.first, .userBanned, retryAfter: nil, at: start, using: &self.random) == .ignore)
        self.machine.pause()
        #expect(self.machine.disconnected() == [.again(self.first, attempts: 1)])
        self.machine.online()
        #expect(self.machine.due(at: start + .seconds(3_600)) == [] && self.machine.nextWake == nil)
        self.machine.resume()
        #expect(self.machine.due(at: start + .seconds(3_600)) == [self.first])
    }

    @Test mutating func aMessageIsGivenUpAfterTheLastAttempt() {
        self.machine.queued(self.first, to: bobID)
        self.machine.online()
        var now = start
        for attempt in 1..<ClientLimits.attemptsMax {
            now += .seconds(120)
            #expect(self.machine.due(at: now) == [self.first])
            now += ClientLimits.answerTimeout
            #expect(self.machine.timerFired(at: now, using: &self.random) == [.again(self.first, attempts: attempt)])
        }
        #expect(self.machine.due(at: now + .seconds(120)) == [self.first])
        #expect(self.machine.disconnected() == [.giveUp(self.first, .triedTooOften)])
    }

    /// A message that waited long for a connection is refused for its age: its first retry is immediate.
    @Test mutating func anOldMessageIsSignedAnewAtOnceAndLaterAfterAPause() {
        self.machine.queued(self.first, to: bobID)
        self.machine.online()
        #expect(self.machine.due(at: start) == [self.first])
        for attempts in 1...2 {
            let verdict = self.machine.refused(
                self.first, .invalidTimestamp, retryAfter: nil, at: start, using: &self.random)
            #expect(verdict == .signAnew(self.first, attempts: attempts))
            #expect(self.machine.due(at: start) == (attempts == 1 ? [self.first] : []))
        }
        #expect(self.machine.due(at: start + .seconds(120)) == [self.first])
    }

    @Test mutating func aLostSessionCostsNoAttempt() {
        self.machine.queued(self.first, to: bobID)
        self.machine.online()
        _ = self.machine.due(at: start)
        #expect(self.machine.sessionLost() == [.again(self.first, attempts: 0)])
        self.machine.online()
        #expect(self.machine.due(at: start) == [self.first])
        #expect(self.machine.disconnected() == [.again(self.first, attempts: 1)])
    }

    /// Every queued message is, in the end, accepted once by this model of a server, or given up; the accepted ones of a
    /// conversation in order; and never are two of one conversation under way.
    @Test(arguments: Prove.seeds(0..<200))
    func everyMessageEndsOnceWhateverHappens(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var machine = OutboxMachine<UUIDText>()
        var now = start
        var queued: [WhisperID: [UUIDText]] = [:]
        var ended: [WhisperID: [UUIDText]] = [:]
        var owner: [UUIDText: WhisperID] = [:]
        var underWay: Set<UUIDText> = []
        func end(_ verdicts: [OutboxMachine<UUIDText>.Verdict]) {
            for verdict in verdicts {
                switch verdict {
                case .again(let id, _), .signAnew(let id, _): underWay.remove(id)
                case .giveUp(let id, _):
                    underWay.remove(id)
                    ended[owner[id]!, default: []].append(id)
                case .ignore: break
                }
            }
        }
        for step in 0..<600 {
            let isEnding = step >= 400
            switch Int.random(in: 0..<9, using: &random) {
            case 0 where !isEnding:
                let (id, peer) = (UUIDText.random(), Bool.random(using: &random) ? bobID : carolID)
                machine.queued(id, to: peer)
                queued[peer, default: []].append(id)
                owner[id] = peer
            case 1 where !isEnding: end(machine.disconnected())
            case 2 where !isEnding: end(machine.sessionLost())
            case 3 where !isEnding:
                guard let id = underWay.randomElement(using: &random) else { break }
                let code = [ErrorCode.internalError, .rateLimited, .invalidTimestamp].randomElement(using: &random)!
                end([machine.refused(id, code, retryAfter: .seconds(2), at: now, using: &random)])
            case 4, 5, 6:
                guard let id = underWay.randomElement(using: &random) else { break }
                machine.settled(id)
                underWay.remove(id)
                ended[owner[id]!, default: []].append(id)
            default:
                now += .milliseconds(Int.random(in: 0..<70_000, using: &random))
                machine.online()
                end(machine.timerFired(at: now, using: &random))
                for id in machine.due(at: now) { #expect(underWay.insert(id).inserted == true) }
                #expect(Set(underWay.map { owner[$0]! }).count == underWay.count)
                #expect(machine.isEmpty || machine.nextWake != nil)
            }
        }
        machine.online()
        while !machine.isEmpty {
            now += .seconds(120)
            for id in machine.due(at: now) { underWay.insert(id) }
            for id in underWay {
                machine.settled(id)
                ended[owner[id]!, default: []].append(id)
            }
            underWay = []
        }
        #expect(ended == queued)
    }
}

/// An id that counts how often ids are compared.
private struct CountedID: Hashable {
    let number: Int
    @TaskLocal static var comparisons: Counter = Counter()

    final class Counter: Sendable {
        private let held = Mutex(0)
        var value: Int { self.held.withLock { $0 } }
        func add() { self.held.withLock { $0 += 1 } }
    }

    static func == (a: CountedID, b: CountedID) -> Bool {
        Self.comparisons.add()
        return a.number == b.number
    }

    func hash(into hasher: inout Hasher) { hasher.combine(self.number) }
}

@Suite struct OutboxWorkTests {
    /// Comparisons for each message, with room for collisions in hash tables.
    private static let comparisonsPerMessageMax = 50

    @Test func theWorkForAMessageDoesNotGrowWithTheQueue() {
        let counter = CountedID.Counter()
        let count = 3_000
        CountedID.$comparisons.withValue(counter) {
            var machine = OutboxMachine<CountedID>()
            for number in 0..<count { machine.queued(CountedID(number: number), to: bobID) }
            machine.online()
            for number in 0..<count {
                let due = machine.due(at: start)
                #expect(due.map(\.number) == [number])
                due.forEach { machine.settled($0) }
            }
            #expect(machine.isEmpty)
        }
        #expect(counter.value <= count * Self.comparisonsPerMessageMax)
    }

    /// The peer's receipts may settle messages that the server's answers have not, in any order.
    @Test func whatIsSettledOutOfTurnIsSkipped() {
        var machine = OutboxMachine<Int>()
        for number in 0..<6 { machine.queued(number, to: bobID) }
        for number in [3, 1, 5] { machine.settled(number) }
        machine.online()
        #expect(machine.due(at: start) == [0])
        machine.settled(2)
        machine.settled(0)
        #expect(machine.due(at: start) == [4])
        machine.settled(4)
        #expect(machine.isEmpty)
        #expect(machine.nextWake == nil)
    }

    @Test func whatIsCancelledIsNotSentAndWhatIsUnderWayGoesOn() {
        var machine = OutboxMachine<Int>()
        for number in 0..<3 { machine.queued(number, to: bobID) }
        machine.queued(9, to: carolID)
        machine.online()
        #expect(machine.due(at: start) == [0, 9])
        #expect(machine.cancel(to: bobID) == [1, 2])
        #expect(machine.cancel(to: bobID) == [])
        machine.settled(0)
        #expect(machine.due(at: start) == [])
        // Asked for again.
        machine.queued(2, to: bobID)
        #expect(machine.due(at: start) == [2])
        machine.settled(9)
        machine.settled(2)
        #expect(machine.isEmpty)
    }

    /// No conversation waits for another to end.
    @Test func conversationsTakeTurns() {
        var machine = OutboxMachine<Int>()
        let peers = (0..<ClientLimits.messagesUnderWayMax + 1).map {
            PublicKeys(
                sign: Bytes32([UInt8](repeating: UInt8($0), count: 32))!,
                box: Bytes32([UInt8](repeating: 1, count: 32))!
            )
            .id(counter: 0)
        }
        for (number, peer) in peers.enumerated() {
            machine.queued(number, to: peer)
            machine.queued(100 + number, to: peer)
        }
        machine.online()
        #expect(machine.due(at: start) == Array(0..<ClientLimits.messagesUnderWayMax))
        machine.settled(0)
        // The last of the peers comes before the second message of the first.
        #expect(machine.due(at: start) == [ClientLimits.messagesUnderWayMax])
    }
}

@Suite struct MessageStateTests {
    @Test func newsMovesForwardOnly() {
        var state = MessageState.sending
        #expect(state.advance(.delivered) == true)
        #expect(state.advance(.accepted) == false)
        #expect(state.advance(.expired) == false)
        #expect(state.advance(.read) == true)
        #expect(state.advance(.delivered) == false)
        #expect(state == .read)
    }

    @Test func aLateAcceptanceOverrulesGivingUp() {
        var state = MessageState.failed(.triedTooOften)
        #expect(state.advance(.accepted) == true)
        #expect(state == .sent)
        #expect(state.advance(.expired) == true)
        #expect(state.advance(.delivered) == true)
        #expect(state == .delivered)
    }

    @Test(arguments: Prove.seeds(0..<100))
    func receiptsInAnyOrderEndTheSame(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var state = MessageState.sending
        for news in [MessageState.Progress.accepted, .delivered, .read, .delivered].shuffled(using: &random) {
            _ = state.advance(news)
        }
        #expect(state == .read)
    }
}
