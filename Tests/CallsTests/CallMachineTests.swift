import CallsCore
import ClusterContract
import Contract
import Testing
import TestKit

private let start = Timestamp(milliseconds: 1_730_000_000_000)
private let alice = WhisperID("WSP-JBPU-D452-TLT4")!
private let bob = WhisperID("WSP-7NUF-DNEU-IGIL")!
private let here = CallLeg(node: NodeID(value: 1), connection: ConnectionID(value: 1))
private let there = CallLeg(node: NodeID(value: 2), connection: ConnectionID(value: 7))
private let elsewhere = CallLeg(node: NodeID(value: 3), connection: ConnectionID(value: 9))

private func newCall(calleeAt leg: CallLeg? = there) -> CallMachine {
    var call = CallMachine(
        callID: .random(), wakeID: .random(), caller: alice, callee: bob, isVideo: false, payload: [1],
        ringTime: .seconds(45), at: start)
    call.asked("r1", on: here, at: start)
    call.located(.callee, on: leg)
    return call
}

extension CallMachine {
    fileprivate mutating func sent(at now: Timestamp = start) -> [PendingCallFrame.Kind] {
        self.dispatch(at: now).map(\.pending.kind)
    }

    /// Everything under way is written.
    fileprivate mutating func writeAll(at now: Timestamp = start) {
        for (pending, leg) in self.dispatch(at: now) {
            self.delivered(pending.number, on: leg, isWritten: true, at: now)
        }
    }

    fileprivate mutating func say(
        _ saying: Saying, by side: CallSide, mark: Int64 = .random(in: .min ... .max)
    ) -> ErrorCode? {
        let leg = self.leg(of: side) ?? (side == .caller ? here : there)
        return self.said(saying, by: side, on: leg, mark: mark, payload: [9], at: start)?.code
    }
}

@Suite struct CallMachineTests {
    @Test func itRingsForTheCallerOnceItHasReachedTheCallee() {
        var call = newCall()
        let sent = call.dispatch(at: start)
        #expect(sent.map(\.pending.kind) == [.incoming])
        #expect(sent[0].leg == there)
        #expect(call.sent().isEmpty)
        call.delivered(sent[0].pending.number, on: there, isWritten: true, at: start)
        let ringing = call.dispatch(at: start)
        #expect(ringing.map(\.pending.kind) == [.ringing])
        #expect(ringing[0].leg == here)
        #expect(call.requestID(for: ringing[0].pending, on: here) == "r1")
        #expect(call.requestID(for: ringing[0].pending, on: elsewhere) == nil)
        #expect(!call.isWoken)
    }

    @Test func whoIsAwayIsWoken() {
        #expect(newCall(calleeAt: nil).isWoken)
    }

    @Test func whoSeemsToBeThereAndIsNotReachedIsWokenAfterAWhile() {
        var call = newCall()
        _ = call.sent()
        call.tick(at: start + CallLimits.wakeUnreachedAfter - .milliseconds(1))
        #expect(!call.isWoken)
        call.tick(at: start + CallLimits.wakeUnreachedAfter)
        #expect(call.isWoken)
    }

    @Test func whatNobodyConfirmsIsSentAgain() {
        var call = newCall()
        #expect(call.sent() == [.incoming])
        call.tick(at: start + CallLimits.resendAfter - .milliseconds(1))
        #expect(call.sent().isEmpty)
        call.tick(at: start + CallLimits.resendAfter)
        #expect(call.sent() == [.incoming])
    }

    /// A gateway that stood still writes all that was sent meanwhile: the last must be the end.
    @Test func whatIsSentAgainDoesNotComeBehindItsEnd() {
        var call = newCall()
        #expect(call.sent() == [.incoming])
        #expect(call.say(.end(nil), by: .caller) == nil)
        #expect(call.sent(at: start + .seconds(1)) == [.end])
        call.tick(at: start + CallLimits.resendAfter)
        #expect(call.sent(at: start + CallLimits.resendAfter) == [.incoming, .end])
    }

    @Test func anUnansweredCallEndsForBothAtItsTime() {
        var call = newCall()
        call.writeAll()
        call.writeAll()
        call.tick(at: start + .seconds(45) - .milliseconds(1))
        #expect(call.isRinging)
        call.tick(at: start + .seconds(45))
        #expect(call.isOver)
        #expect(call.sent() == [.end, .end])
        #expect(call.say(.answer, by: .callee) == .notFound)
        #expect(call.forgetAt == start + .seconds(60))
    }

    @Test func anAnsweredCallLivesTwelveHours() {
        var call = newCall()
        call.writeAll()
        #expect(call.say(.answer, by: .callee) == nil)
        call.tick(at: start + .seconds(600))
        #expect(!call.isOver)
        #expect(call.forgetAt == start + .seconds(12 * 3_600))
    }

    @Test func theCallerCannotAnswer() {
        var call = newCall()
        #expect(call.say(.answer, by: .caller) == .forbidden)
        #expect(call.isRinging)
    }

    @Test func nothingIsSaidAfterTheEnd() {
        var call = newCall()
        #expect(call.say(.end(nil), by: .caller, mark: 5) == nil)
        #expect(call.say(.end(nil), by: .caller, mark: 5) == nil)
        #expect(call.say(.end(nil), by: .caller, mark: 6) == .notFound)
        #expect(call.say(.end(nil), by: .callee) == .notFound)
        #expect(call.say(.candidate, by: .callee) == .notFound)
        #expect(call.say(.answer, by: .callee) == .notFound)
        #expect(call.say(.answer, by: .caller) == .notFound)
        // In order, for a callee who is there.
        #expect(call.sent() == [.incoming, .end])
    }

    @Test func repeatedFramesAreForwardedOnce() {
        var call = newCall()
        for _ in 0..<3 { #expect(call.say(.candidate, by: .caller, mark: 1) == nil) }
        for _ in 0..<3 { #expect(call.say(.answer, by: .callee, mark: 2) == nil) }
        #expect(call.say(.answer, by: .callee, mark: 3) == .notFound)
        #expect(call.sent() == [.candidate, .answer])
    }

    @Test func candidatesForWhoIsAwayHaveABound() {
        var call = newCall(calleeAt: nil)
        for mark in 0..<80 { #expect(call.say(.candidate, by: .caller, mark: Int64(mark)) == nil) }
        #expect(call.candidatesDropped == 16)
        call.connected(.callee, on: there)
        #expect(call.sent() == [.incoming] + Array(repeating: .candidate, count: 64))
    }

    @Test func candidatesForWhoIsThereAreNotDropped() {
        var call = newCall()
        for mark in 0..<80 { _ = call.say(.candidate, by: .caller, mark: Int64(mark)) }
        #expect(call.candidatesDropped == 0)
        // But if it turns out that nobody is there, the newest go.
        let sent = call.dispatch(at: start)
        call.delivered(sent[0].pending.number, on: there, isWritten: false, at: start)
        #expect(call.candidatesDropped == 16)
        call.connected(.callee, on: elsewhere)
        #expect(call.dispatch(at: start).map(\.pending.number) == sent.prefix(65).map(\.pending.number))
    }

    @Test func candidatesHaveABoundInBytes() {
        var call = newCall(calleeAt: nil)
        let big = [UInt8](repeating: 7, count: 300_000)
        for mark in 0..<5 {
            _ = call.said(.candidate, by: .caller, on: here, mark: Int64(mark), payload: big, at: start)
        }
        #expect(call.candidatesDropped == 2)
    }

    /// A phone that comes back on another connection gets everything again while it rings, and only what is new afterwards.
    @Test func aCalleeWhoComesBackGetsItAllAgain() {
        var call = newCall()
        _ = call.say(.candidate, by: .caller, mark: 1)
        call.writeAll()
        #expect(call.sent() == [.ringing])
        call.connected(.callee, on: elsewhere)
        let sent = call.dispatch(at: start)
        #expect(sent.map(\.pending.kind) == [.incoming, .candidate])
        #expect(sent.allSatisfy { $0.leg == elsewhere })
        _ = call.said(.answer, by: .callee, on: elsewhere, mark: 2, payload: [], at: start)
        call.connected(.callee, on: there)
        #expect(!call.sent().contains(.incoming))
    }

    /// The answer was written to a socket that nobody reads any more: the caller changes networks just then.
    @Test func aCallerWhoComesBackGetsTheAnswerAgainUntilItHasSpoken() {
        var call = newCall()
        call.writeAll()
        call.writeAll()
        #expect(call.say(.answer, by: .callee) == nil)
        #expect(call.say(.candidate, by: .callee) == nil)
        call.writeAll()
        call.connected(.caller, on: elsewhere)
        #expect(call.sent() == [.answer, .candidate])
        call.tick(at: start + CallLimits.resendAfter)
        call.writeAll()
        // It asks once more, on the same connection.
        call.asked("r3", on: elsewhere, at: start)
        #expect(call.sent() == [.answer, .candidate])
        call.tick(at: start + CallLimits.resendAfter)
        call.writeAll()
        _ = call.said(.candidate, by: .caller, on: elsewhere, mark: 7, payload: [], at: start)
        call.connected(.caller, on: here)
        #expect(call.sent() == [.candidate])
        #expect(call.pendingFrames.allSatisfy { $0.side == .callee })
    }

    /// A party that changes networks during a call gets the frames that it has not confirmed; but not for 12 h.
    @Test func aQuietCallKeepsNoCandidates() {
        var call = newCall()
        call.writeAll()
        call.writeAll()
        #expect(call.say(.answer, by: .callee) == nil)
        #expect(call.say(.candidate, by: .caller) == nil)
        #expect(call.say(.candidate, by: .callee) == nil)
        call.writeAll()
        let quiet = start + CallLimits.quietAfter
        let before = quiet - .milliseconds(1)
        call.tick(at: before)
        #expect(call.pendingFrames.count == 3)
        call.connected(.caller, on: elsewhere)
        let again = call.dispatch(at: before)
        #expect(again.map(\.pending.kind) == [.answer, .candidate])
        for (pending, leg) in again { call.delivered(pending.number, on: leg, isWritten: true, at: before) }
        call.tick(at: quiet)
        #expect(call.pendingFrames.isEmpty)
        #expect(call.candidatesDropped == 0)
        // Later frames are kept for the same time.
        _ = call.said(.candidate, by: .caller, on: elsewhere, mark: 7, payload: [], at: quiet)
        call.tick(at: quiet + CallLimits.quietAfter - .milliseconds(1))
        #expect(call.pendingFrames.map(\.kind) == [.candidate])
    }

    /// Candidates for a party that is away are removed too, and count as dropped; the answer waits.
    @Test func aQuietCallKeepsTheAnswerThatWasNotWritten() {
        var call = newCall()
        call.writeAll()
        call.writeAll()
        call.lost(.caller, on: here)
        #expect(call.say(.answer, by: .callee) == nil)
        #expect(call.say(.candidate, by: .callee) == nil)
        call.tick(at: start + CallLimits.quietAfter)
        #expect(call.pendingFrames.map(\.kind) == [.answer])
        #expect(call.candidatesDropped == 1)
        call.connected(.caller, on: elsewhere)
        #expect(call.sent() == [.answer])
    }

    /// Nobody knows when its sides last spoke: they have the whole time again.
    @Test func aCallFromTheTablesIsNotQuietAtOnce() {
        let candidate = PendingCallFrame(number: 4, side: .callee, kind: .candidate, payload: [1])
        var call = CallMachine(
            callID: .random(), wakeID: .random(), caller: alice, callee: bob, isVideo: false, startedAt: start,
            ringsUntil: start + .seconds(45), phase: .answered(at: start), isWoken: false, pendingFrames: [candidate])
        let taken = start + .seconds(3_600)
        call.tick(at: taken)
        call.tick(at: taken + CallLimits.quietAfter - .milliseconds(1))
        #expect(call.pendingFrames == [candidate])
        call.tick(at: taken + CallLimits.quietAfter)
        #expect(call.pendingFrames.isEmpty)
    }

    /// Frames on their way when the call ends are of no more use once they are written.
    @Test func behindTheEndOnlyTheEndIsKept() {
        var call = newCall()
        #expect(call.say(.candidate, by: .caller) == nil)
        #expect(call.say(.end(nil), by: .caller) == nil)
        #expect(call.pendingFrames.map(\.kind) == [.incoming, .candidate, .end])
        call.writeAll()
        #expect(call.pendingFrames.map(\.kind) == [.end])
    }

    /// Also the end.
    @Test func whoeverComesBackAfterTheEndHearsOfIt() {
        var call = newCall()
        call.writeAll()
        #expect(call.say(.end(nil), by: .caller) == nil)
        call.writeAll()
        call.connected(.callee, on: elsewhere)
        #expect(call.sent() == [.end])
    }

    @Test func aReceiptOfAnEarlierConnectionProvesNothing() {
        var call = newCall()
        let sent = call.dispatch(at: start)
        call.connected(.callee, on: elsewhere)
        call.delivered(sent[0].pending.number, on: there, isWritten: true, at: start)
        #expect(call.sent() == [.incoming])
        call.delivered(sent[0].pending.number, on: there, isWritten: false, at: start)
        #expect(call.leg(of: .callee) == elsewhere)
    }

    @Test func whatIsMissingIsLookedFor() {
        var call = newCall(calleeAt: nil)
        #expect(call.missing == [.callee])
        call.connected(.callee, on: there)
        #expect(call.missing.isEmpty)
        call.lost(.caller, on: here)
        // Nothing waits for the caller.
        #expect(call.missing.isEmpty)
        _ = call.say(.candidate, by: .callee)
        #expect(call.missing == [.caller])
    }

    @Test func aRepeatedBeginningIsAnsweredAgain() {
        var call = newCall()
        call.writeAll()
        call.writeAll()
        call.asked("r2", on: elsewhere, at: start)
        let sent = call.dispatch(at: start)
        #expect(sent.map(\.pending.kind) == [.ringing])
        #expect(call.requestID(for: sent[0].pending, on: sent[0].leg) == "r2")
    }

    /// In any order of events a call ends once, its numbers grow, and the callee gets the call's beginning first. For a
    /// call that is over only its end is kept.
    @Test(arguments: Prove.seeds(0..<300)) func keepsItsPromisesWhateverTheOrder(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var call = newCall(calleeAt: Bool.random(using: &random) ? there : nil)
        var now = start
        var ends = 0
        var under: [(number: Int64, leg: CallLeg)] = []
        var written: [CallSide: [CallLeg: [PendingCallFrame.Kind]]] = [:]
        for _ in 0..<200 {
            let wasOver = call.isOver
            now = now + .milliseconds(Int.random(in: 0...400, using: &random))
            let side = Bool.random(using: &random) ? CallSide.caller : .callee
            let leg = [here, there, elsewhere].randomElement(using: &random)!
            switch Int.random(in: 0..<11, using: &random) {
            case 0: _ = call.said(.answer, by: side, on: leg, mark: 1, payload: [], at: now)
            case 1, 2, 3:
                _ = call.said(
                    .candidate, by: side, on: leg, mark: Int64.random(in: 0...300, using: &random), payload: [], at: now
                )
            case 4 where Int.random(in: 0..<8, using: &random) == 0:
                _ = call.said(.end(nil), by: side, on: leg, mark: 2, payload: [], at: now)
            case 5: call.connected(side, on: leg)
            case 6: call.lost(side, on: leg)
            case 7: call.located(side, on: Bool.random(using: &random) ? leg : nil)
            case 8: call.tick(at: now)
            default:
                if let index = under.indices.randomElement(using: &random) {
                    let (number, leg) = under.remove(at: index)
                    call.delivered(number, on: leg, isWritten: Int.random(in: 0..<4, using: &random) > 0, at: now)
                }
            }
            if !wasOver, call.isOver { ends += 1 }
            #expect(!wasOver || call.isOver)
            #expect(call.pendingFrames.map(\.number) == call.pendingFrames.map(\.number).sorted())
            if call.isOver {
                #expect(call.pendingFrames.allSatisfy { $0.kind == .end || call.leg(of: $0.side) != nil })
            }
            if !call.isRinging, !call.isOver { #expect(!call.pendingFrames.contains { $0.kind == .incoming }) }
            for side in CallSide.allCases {
                let open = call.pendingFrames.count {
                    $0.side == side && $0.kind == .candidate && $0.progress != .written
                }
                #expect(open <= CallLimits.candidatesUnderWayMax)
                if call.leg(of: side) == nil { #expect(open <= Limits.callCandidatesBufferedMax) }
            }
            for (pending, leg) in call.dispatch(at: now) {
                #expect(call.leg(of: pending.side) == leg)
                under.append((pending.number, leg))
                if pending.side == .callee {
                    written[.callee, default: [:]][leg, default: []].append(pending.kind)
                    // While it rings nothing comes to a connection before the call itself.
                    if call.isRinging { #expect(written[.callee]?[leg]?.first == .incoming) }
                }
            }
        }
        #expect(ends <= 1)
    }
}
