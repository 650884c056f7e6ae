import Contract
import Testing
import TestKit

@testable import WhisperClient

@Suite struct SessionMachineTests {
    var random = SeededGenerator(seed: 7)
    var machine = SessionMachine(knowsID: true, at: start)

    /// Login with an open connection at `start`.
    mutating func bind(left: Duration = .seconds(7 * 86_400)) {
        #expect(self.machine.nextStep(at: start) == .connect)
        #expect(self.machine.opened(sessionLeft: nil, at: start) == [.sendRegisterBegin(withID: true)])
        #expect(self.machine.challenged(at: start) == [.sendProof])
        #expect(
            self.machine.registered(sessionLeft: left, at: start, using: &self.random) == [.bound, .fetch(cursor: nil)])
    }

    @Test mutating func aNewcomerLogsInAndCatchesUp() {
        self.bind()
        #expect(self.machine.paged(nextCursor: "a", at: start, using: &self.random) == [.fetch(cursor: "a")])
        #expect(self.machine.paged(nextCursor: nil, at: start, using: &self.random) == [.caughtUp])
        // A page that was given up and came late.
        #expect(self.machine.paged(nextCursor: "b", at: start, using: &self.random) == [])
    }

    @Test mutating func aStoredSessionNeedsNoLogin() {
        #expect(self.machine.nextStep(at: start) == .connect)
        #expect(self.machine.opened(sessionLeft: .seconds(86_400 * 3), at: start) == [.fetch(cursor: nil)])
        #expect(!self.machine.isBound)
        #expect(self.machine.paged(nextCursor: nil, at: start, using: &self.random) == [.bound, .caughtUp])
        #expect(self.machine.isBound)
    }

    @Test mutating func aDeadSessionIsReplacedByALogin() {
        _ = self.machine.nextStep(at: start)
        _ = self.machine.opened(sessionLeft: .seconds(86_400), at: start)
        let actions = self.machine.refused(.fetch, .notRegistered, retryAfter: nil, at: start, using: &self.random)
        #expect(actions == [.forgetSession, .sendRegisterBegin(withID: true)])
    }

    @Test mutating func severalRefusalsOfOneDeadSessionBeginOneLogin() {
        self.bind()
        let first = self.machine.refused(.other, .notRegistered, retryAfter: nil, at: start, using: &self.random)
        #expect(first == [.forgetSession, .sendRegisterBegin(withID: true)])
        for request in [SessionMachine.Request.other, .fetch, .refresh] {
            #expect(
                self.machine.refused(request, .notRegistered, retryAfter: nil, at: start, using: &self.random) == [])
        }
    }

    @Test mutating func anIDTheServerLostIsBroughtBackByTheKeys() {
        _ = self.machine.nextStep(at: start)
        _ = self.machine.opened(sessionLeft: nil, at: start)
        let actions = self.machine.refused(.login, .notFound, retryAfter: nil, at: start, using: &self.random)
        #expect(actions == [.sendRegisterBegin(withID: false)])
    }

    @Test mutating func aLoginRefusedAgainAndAgainStops() {
        for _ in 1..<ClientLimits.loginsRefusedMax {
            let now = start + .seconds(1_000)
            #expect(self.machine.nextStep(at: now) == .connect)
            _ = self.machine.opened(sessionLeft: nil, at: now)
            let actions = self.machine.refused(.login, .authFailed, retryAfter: nil, at: start, using: &self.random)
            #expect(actions == [.closeConnection])
            self.machine.closed(nil, reason: "", at: start, using: &self.random)
        }
        _ = self.machine.nextStep(at: start + .seconds(1_000))
        _ = self.machine.opened(sessionLeft: nil, at: start)
        _ = self.machine.refused(.login, .authFailed, retryAfter: nil, at: start, using: &self.random)
        #expect(self.machine.stopReason == .loginRefused)
    }

    /// Each further attempt would get the same answer, and count as a failed proof of this address.
    @Test(arguments: RefusalReason.allCases)
    mutating func aShutDoorStopsAtTheFirstAnswer(reason: RefusalReason) {
        _ = self.machine.nextStep(at: start)
        _ = self.machine.opened(sessionLeft: nil, at: start)
        #expect(self.machine.challenged(at: start) == [.sendProof])
        let actions = self.machine.refused(
            .login, .forbidden, retryAfter: nil, reason: reason, at: start, using: &self.random)
        #expect(actions == [.closeConnection])
        #expect(self.machine.nextStep(at: start + .seconds(3_600)) == .stop(.refused(reason)))
    }

    @Test mutating func anotherDeviceEndsIt() {
        self.bind()
        self.machine.closed(4001, reason: "", at: start, using: &self.random)
        #expect(self.machine.nextStep(at: start + .seconds(3_600)) == .stop(.replaced))
    }

    private mutating func refusedAsBanned(
        _ request: SessionMachine.Request, until end: Timestamp? = nil
    ) -> [SessionMachine.Action] {
        self.machine.refused(
            request, .userBanned, retryAfter: nil, bannedUntil: end, at: start, using: &self.random)
    }

    /// Only whoever proves the keys is told when a ban ends: one login asks for it.
    @Test mutating func aBanEndsItOnceItsTermIsKnown() {
        let end = Timestamp(milliseconds: 9_000)
        self.bind()
        #expect(self.refusedAsBanned(.other) == [.forgetSession, .closeConnection])
        #expect(self.machine.nextStep(at: start) == .connect)
        #expect(self.machine.opened(sessionLeft: nil, at: start) == [.sendRegisterBegin(withID: false)])
        #expect(self.machine.challenged(at: start) == [.sendProof])
        #expect(self.refusedAsBanned(.login, until: end) == [.closeConnection])
        #expect(self.machine.nextStep(at: start) == .stop(.banned(until: end)))
    }

    /// No server makes us log in again and again by it.
    @Test mutating func theTermOfABanIsAskedForOnce() {
        for isBound in [true, false] {
            var copy = self
            copy.bind()
            copy.machine.closed(4003, reason: "", at: start, using: &copy.random)
            #expect(copy.machine.nextStep(at: start) == .connect)
            if isBound {
                _ = copy.machine.opened(sessionLeft: nil, at: start)
                _ = copy.machine.challenged(at: start)
                _ = copy.machine.registered(sessionLeft: .seconds(90_000), at: start, using: &copy.random)
                _ = copy.refusedAsBanned(.other)
            } else {
                copy.machine.openFailed(at: start, using: &copy.random)
            }
            #expect(copy.machine.nextStep(at: start) == .stop(.banned(until: nil)))
        }
    }

    @Test mutating func aDrainingServerSaysWhenToComeBack() {
        self.bind()
        self.machine.closed(1001, reason: "2500", at: start, using: &self.random)
        #expect(self.machine.nextStep(at: start) == .wait(until: start + .milliseconds(2_500)))
        #expect(self.machine.nextStep(at: start + .milliseconds(2_500)) == .connect)
    }

    @Test mutating func nonsenseInACloseReasonIsBounded() {
        self.bind()
        self.machine.closed(1001, reason: "99999999999", at: start, using: &self.random)
        #expect(self.machine.nextStep(at: start) == .wait(until: start + ClientLimits.drainDelayMax))
    }

    @Test mutating func delaysGrowUntilASessionIsBound() {
        var waits: [Duration] = []
        var now = start
        for _ in 0..<8 {
            #expect(self.machine.nextStep(at: now) == .connect)
            self.machine.openFailed(at: now, using: &self.random)
            guard case .wait(let until) = self.machine.nextStep(at: now) else {
                Issue.record("no wait")
                return
            }
            waits.append(until - now)
            now = until
        }
        #expect(waits.first! <= .milliseconds(300))
        #expect(waits.last! >= ClientLimits.reconnect.longest / 2)
        #expect(waits.allSatisfy { $0 <= ClientLimits.reconnect.longest })
    }

    @Test mutating func aSilentPeerIsDead() {
        self.bind()
        _ = self.machine.paged(nextCursor: nil, at: start, using: &self.random)
        let pingAt = self.machine.nextWake!
        #expect(ClientLimits.pingInterval.contains(pingAt - start))
        #expect(self.machine.timerFired(at: pingAt, using: &self.random) == [.ping])
        #expect(self.machine.nextWake == pingAt + ClientLimits.pongTimeout)
        let dead = self.machine.timerFired(at: pingAt + ClientLimits.pongTimeout, using: &self.random)
        #expect(dead == [.closeConnection])
        #expect(!self.machine.isBound)
    }

    @Test mutating func anythingHeardProvesLife() {
        self.bind()
        _ = self.machine.paged(nextCursor: nil, at: start, using: &self.random)
        let pingAt = self.machine.nextWake!
        _ = self.machine.timerFired(at: pingAt, using: &self.random)
        self.machine.heard()
        #expect(self.machine.timerFired(at: pingAt + ClientLimits.pongTimeout, using: &self.random) == [])
        #expect(self.machine.isBound)
    }

    @Test mutating func aSessionIsRenewedADayBeforeItsEnd() {
        self.bind(left: .seconds(86_400 + 5))
        _ = self.machine.paged(nextCursor: nil, at: start, using: &self.random)
        #expect(self.machine.timerFired(at: start + .seconds(4), using: &self.random) == [])
        #expect(self.machine.timerFired(at: start + .seconds(5), using: &self.random) == [.refresh])
        #expect(self.machine.timerFired(at: start + .seconds(6), using: &self.random) == [])
        self.machine.refreshed(sessionLeft: .seconds(7 * 86_400), at: start + .seconds(6))
        #expect(self.machine.timerFired(at: start + .seconds(7), using: &self.random) == [])
    }

    @Test mutating func aPageThatDoesNotComeIsAskedForAgain() {
        self.bind()
        _ = self.machine.paged(nextCursor: "x", at: start, using: &self.random)
        let late = start + ClientLimits.answerTimeout
        #expect(self.machine.timerFired(at: late, using: &self.random) == [.fetch(cursor: "x")])
        _ = self.machine.refused(.fetch, .rateLimited, retryAfter: .seconds(5), at: late, using: &self.random)
        #expect(self.machine.timerFired(at: late + .seconds(4), using: &self.random) == [])
        #expect(self.machine.timerFired(at: late + .seconds(5), using: &self.random) == [.fetch(cursor: "x")])
        // A cursor the server refuses is dropped.
        _ = self.machine.refused(.fetch, .invalidPayload, retryAfter: nil, at: late + .seconds(5), using: &self.random)
        #expect(self.machine.timerFired(at: late + .seconds(7), using: &self.random) == [.fetch(cursor: nil)])
    }

    /// For any input in any order: outside a connection there is always a next step, within one always a deadline.
    /// After a stop nothing starts again.
    @Test(arguments: Prove.seeds(0..<300))
    func itNeverGetsStuck(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var machine = SessionMachine(knowsID: Bool.random(using: &random), at: start)
        var now = start
        var isConnected = false
        for _ in 0..<300 {
            now += .milliseconds(Int.random(in: 0..<9_000, using: &random))
            guard isConnected else {
                switch machine.nextStep(at: now) {
                case .wait(let until):
                    #expect(until > now)
                    now = until
                case .stop(let reason): return #expect(machine.stopReason == reason)
                case .connect:
                    if Bool.random(using: &random) {
                        machine.openFailed(at: now, using: &random)
                    } else {
                        let left: Duration? = Bool.random(using: &random) ? .seconds(90_000) : nil
                        #expect(machine.opened(sessionLeft: left, at: now) != [])
                        isConnected = true
                    }
                }
                continue
            }
            let codes: [ErrorCode?] = ErrorCode.allCases.filter { $0 != .userBanned } + [nil]
            let requests: [SessionMachine.Request] = [.login, .fetch, .refresh, .other]
            var actions: [SessionMachine.Action] = []
            switch Int.random(in: 0..<11, using: &random) {
            case 0: actions = machine.challenged(at: now)
            case 1, 2: actions = machine.registered(sessionLeft: .seconds(90_000), at: now, using: &random)
            case 3: actions = machine.paged(nextCursor: "c", at: now, using: &random)
            case 4: actions = machine.paged(nextCursor: nil, at: now, using: &random)
            case 5: machine.heard()
            case 6: machine.refreshed(sessionLeft: .seconds(90_000), at: now)
            case 7:
                actions = machine.refused(
                    requests.randomElement(using: &random)!, codes.randomElement(using: &random)!,
                    retryAfter: .seconds(1), at: now, using: &random)
            case 8:
                machine.closed(
                    [nil, 1001, 1008, 4008, 4029].randomElement(using: &random)!, reason: "100", at: now, using: &random
                )
                isConnected = false
            default: actions = machine.timerFired(at: now, using: &random)
            }
            if actions.contains(.closeConnection) { isConnected = false }
            if isConnected { #expect(machine.nextWake != nil) }
        }
    }
}
