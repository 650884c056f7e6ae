import Contract
import Testing
import TestKit

@testable import WhisperClient

let start = ContinuousClock.now
let bobID = WhisperID("WSP-F4YH-3J4Z-7RP7")!
let carolID = WhisperID("WSP-AAAA-AAAA-AAAA")!

@Suite struct OutboxMachineTests {
    var random = SeededGenerator(seed: 1)
    var machine = OutboxMachine()
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
        (.authFailed, .rejected), (.userBanned, .banned),
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
    @Test(arguments: UInt64(0)..<200)
    func everyMessageEndsOnceWhateverHappens(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var machine = OutboxMachine()
        var now = start
        var queued: [WhisperID: [UUIDText]] = [:]
        var ended: [WhisperID: [UUIDText]] = [:]
        var owner: [UUIDText: WhisperID] = [:]
        var underWay: Set<UUIDText> = []
        func end(_ verdicts: [OutboxMachine.Verdict]) {
            for verdict in verdicts {
                switch verdict {
                case .again(let id, _): underWay.remove(id)
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
                let code: ErrorCode = Bool.random(using: &random) ? .internalError : .rateLimited
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

    @Test(arguments: UInt64(0)..<100)
    func receiptsInAnyOrderEndTheSame(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var state = MessageState.sending
        for news in [MessageState.Progress.accepted, .delivered, .read, .delivered].shuffled(using: &random) {
            _ = state.advance(news)
        }
        #expect(state == .read)
    }

    @Test(arguments: UInt64(0)..<100)
    func delaysGrowWithinTheirBounds(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let backoff = Backoff(first: .milliseconds(500), longest: .seconds(60))
        for failures in 1...40 {
            let whole = min(Duration.milliseconds(500) * (1 << min(failures - 1, 20)), .seconds(60))
            let delay = backoff.delay(after: failures, using: &random)
            #expect(delay >= whole / 2 && delay <= whole)
        }
    }
}
