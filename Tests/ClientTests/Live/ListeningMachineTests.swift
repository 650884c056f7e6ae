import Contract
import Testing

@testable import WhisperClient

/// Contract §14.7 and §14.10: how a listener gets in, comes back, and hears that it may not.
@Suite struct ListeningMachineTests {
    /// One that listens.
    private func joined() -> ListeningMachine {
        var machine = ListeningMachine(isAdmitted: false)
        #expect(machine.connected() == .knock)
        #expect(machine.waiting(at: .now) == true)
        #expect(machine.state == .waiting)
        #expect(machine.admitted() == .join)
        #expect(machine.joined() == true)
        #expect(machine.state == .joined)
        return machine
    }

    @Test func aStrangerKnocksWaitsAndJoins() {
        var machine = self.joined()
        // New keys for all: nothing is asked.
        #expect(machine.admitted() == nil && machine.state == .joined)
    }

    @Test func whoWasLetInComesBackWithoutKnocking() {
        var machine = self.joined()
        machine.disconnected()
        #expect(machine.connected() == .join)
        // Its key is old: it waits for the new one, and joins with it.
        #expect(machine.waiting(at: .now) == true)
        #expect(machine.state == .waiting)
        #expect(machine.admitted() == .join)
    }

    @Test func whoWaitsKnocksAgainOnTheNextConnection() {
        var machine = ListeningMachine(isAdmitted: false)
        _ = machine.connected()
        #expect(machine.waiting(at: .now) == true)
        machine.disconnected()
        #expect(machine.connected() == .knock)
    }

    @Test func aForgottenListenerKnocks() {
        for code in [ErrorCode.forbidden, .notFound] {
            var machine = ListeningMachine(isAdmitted: true)
            #expect(machine.connected() == .join)
            let next = machine.failed(.join, code, retryAfter: nil, at: .now)
            #expect(next?.0 == .knock && next?.after == .zero)
        }
    }

    /// Nobody who was removed knocks unasked.
    @Test func whoWasRemovedWhileAwayHearsIt() {
        for (code, end) in [(ErrorCode.forbidden, LiveRefused.Reason.removed), (.notFound, .deleted)] {
            var machine = self.joined()
            machine.disconnected()
            _ = machine.connected()
            #expect(machine.failed(.join, code, retryAfter: nil, at: .now) == nil)
            #expect(machine.state == .over(.refused(end)))
        }
    }

    @Test(arguments: [LiveRefused.Reason.declined, .passcode, .removed, .expired, .deleted])
    func aRefusalEndsIt(_ reason: LiveRefused.Reason) {
        var machine = self.joined()
        machine.refused(reason)
        machine.disconnected()
        #expect(machine.state == .over(.refused(reason)))
        #expect(machine.connected() == nil && machine.admitted() == nil)
    }

    @Test(arguments: [
        (ErrorCode.notFound, ListeningMachine.End.notFound), (.forbidden, .forbidden), (.authFailed, .broken),
        (.invalidPayload, .broken),
    ])
    func someKnocksAreInVain(_ code: ErrorCode, _ end: ListeningMachine.End) {
        var machine = ListeningMachine(isAdmitted: false)
        _ = machine.connected()
        #expect(machine.failed(.knock, code, retryAfter: nil, at: .now) == nil)
        #expect(machine.state == .over(end))
    }

    @Test func troubleIsWaitedOutLongerEachTime() {
        var machine = ListeningMachine(isAdmitted: false)
        _ = machine.connected()
        var pauses: [Duration] = []
        for code in [nil, ErrorCode.internalError, .internalError, .rateLimited] {
            let next = machine.failed(.knock, code, retryAfter: code == .rateLimited ? .seconds(60) : nil, at: .now)
            #expect(next?.0 == .knock && machine.state == .asking(.knock))
            pauses.append(next?.after ?? .zero)
        }
        #expect(pauses == [.milliseconds(500), .seconds(1), .seconds(2), .seconds(60)])
    }

    /// The answer to an older question changes nothing.
    @Test func lateFailuresAreNothing() {
        var machine = self.joined()
        #expect(machine.failed(.knock, .notFound, retryAfter: nil, at: .now) == nil && machine.state == .joined)
        #expect(machine.failed(.join, nil, retryAfter: nil, at: .now) == nil && machine.state == .joined)
    }

    // MARK: What may be lost

    private let start = ContinuousClock.Instant.now

    private func waiting() -> ListeningMachine {
        var machine = ListeningMachine(isAdmitted: false)
        _ = machine.connected()
        #expect(machine.waiting(at: self.start) == true)
        return machine
    }

    /// A listener that misses a key joins again, and may have to wait for it. Its user gets both events.
    @Test func whoWaitsForItsKeyIsToldWhenItIsThere() {
        var machine = ListeningMachine(isAdmitted: true)
        #expect(machine.connected() == .join)
        #expect(machine.joined() == true)
        #expect(machine.keyIsMissing() == .join)
        #expect(machine.joined() == false, "it never waited")
        #expect(machine.keyIsMissing() == .join)
        #expect(machine.waiting(at: self.start) == true)
        #expect(machine.admitted() == .join)
        #expect(machine.joined() == true)
    }

    /// `live_admitted` may be lost.
    @Test func whoWaitsAsksWhetherItIsLetIn() {
        var machine = self.waiting()
        var time = self.start + ListeningMachine.askedEvery
        #expect(machine.nextWake == time)
        #expect(machine.timerFired(at: time - .milliseconds(1)) == nil)
        #expect(machine.timerFired(at: time) == .join)
        #expect(machine.state == .asking(.join) && machine.nextWake == nil)
        #expect(machine.timerFired(at: time) == nil)
        // It still waits, or nobody knows: no knock goes out, and its user hears nothing new.
        for code in [ErrorCode.forbidden, .rateLimited, .internalError, nil] {
            #expect(machine.failed(.join, code, retryAfter: nil, at: time) == nil)
            #expect(machine.state == .waiting)
            time += ListeningMachine.askedEvery
            #expect(machine.timerFired(at: time) == .join)
        }
        #expect(machine.waiting(at: time) == false)
        #expect(machine.timerFired(at: time + ListeningMachine.askedEvery) == .join)
        #expect(machine.joined() == true)
        #expect(machine.state == .joined && machine.nextWake == nil)
    }

    /// `live_refused` may be lost.
    @Test func nobodyWaitsForEver() {
        for isUnknown in [true, false] {
            var machine = self.waiting()
            let time = self.start + (isUnknown ? ListeningMachine.askedEvery : ListeningMachine.waitMax)
            #expect(machine.timerFired(at: time) == .join)
            #expect(machine.failed(.join, isUnknown ? .notFound : .forbidden, retryAfter: nil, at: time) == nil)
            #expect(machine.state == .over(.refused(.expired)))
        }
    }

    @Test func whoIsLetInWhileItAsksJoins() {
        var machine = self.waiting()
        let time = self.start + ListeningMachine.askedEvery
        _ = machine.timerFired(at: time)
        #expect(machine.admitted() == nil, "the question is under way")
        // It was judged before.
        #expect(machine.failed(.join, .forbidden, retryAfter: nil, at: time)?.0 == .knock)
        #expect(machine.admitted() == .join)
    }

    /// `live_waiting` may come behind `live_admitted`.
    @Test func aLateWaitingHoldsNobodyBack() {
        var machine = ListeningMachine(isAdmitted: false)
        _ = machine.connected()
        #expect(machine.admitted() == .join)
        _ = machine.waiting(at: self.start)
        #expect(machine.joined() == true)
        #expect(machine.state == .joined)
    }

    @Test func whoMissesAKeyJoinsAgainInSilence() {
        var machine = self.waiting()
        #expect(machine.keyIsMissing() == nil)
        _ = machine.admitted()
        #expect(machine.joined() == true)
        let (first, second) = (machine.keyIsMissing(), machine.keyIsMissing())
        #expect(first == .join && second == nil)
        #expect(machine.joined() == false)
        #expect(machine.state == .joined)
        machine.disconnected()
        _ = machine.connected()
        #expect(machine.joined() == true, "on the next connection it is news")
    }
}
