import Contract
import TestKit
import Testing

@testable import WhisperClient

@Suite struct PeerCallsTests {
    private static func id(_ number: UInt64) -> UUIDText { UUIDText(high: number, low: 0) }

    private static func ends(_ actions: [PeerCalls.Action]) -> [UUIDText: PeerCalls.EndReason] {
        var ends: [UUIDText: PeerCalls.EndReason] = [:]
        for case .over(let call, let reason) in actions { ends[call.id] = reason }
        return ends
    }

    var calls = PeerCalls()

    @Test mutating func nobodyAnswersAndTheCallEndsByItself() throws {
        try self.calls.start(Self.id(1), to: bobID, isVideo: false, at: start)
        let rings = self.calls.ringsThere(Self.id(1), from: bobID)
        #expect(rings == [.ringsThere(Self.id(1))])
        #expect(self.calls.nextWake == start + ClientLimits.ringingMax)
        let early = self.calls.timerFired(at: start)
        #expect(early == [])
        let late = self.calls.timerFired(at: start + ClientLimits.ringingMax)
        #expect(late.first == .sendEnd(Self.id(1), to: bobID, .timeout))
        #expect(Self.ends(late) == [Self.id(1): .timeout])
        #expect(self.calls.nextWake == nil)
    }

    @Test mutating func whoTalksIsBusyAndWhoIsRungMayCall() throws {
        let rings = self.calls.incoming(Self.id(1), from: bobID, isVideo: false, at: start)
        #expect(rings == [.rings(Self.id(1))])
        let second = self.calls.incoming(Self.id(2), from: carolID, isVideo: false, at: start)
        #expect(second == [.sendEnd(Self.id(2), to: carolID, .busy), .missed(carolID, isVideo: false)])
        try self.calls.start(Self.id(3), to: carolID, isVideo: false, at: start)
        var refusal: PeerCalls.Refusal?
        do throws(PeerCalls.Refusal) { try self.calls.answer(Self.id(1), at: start) } catch { refusal = error }
        #expect(refusal == .busy)
        _ = try self.calls.end(Self.id(3), nil)
        try self.calls.answer(Self.id(1), at: start)
        let third = self.calls.incoming(Self.id(4), from: carolID, isVideo: true, at: start)
        #expect(third == [.sendEnd(Self.id(4), to: carolID, .busy), .missed(carolID, isVideo: true)])
    }

    /// Two people call each other at once, and each hears of the other's call at any time: the lower id lives.
    @Test(arguments: 1...20) func ofCrossingCallsTheLowerLives(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let ids = (
            Self.id(UInt64.random(in: 1...9, using: &random)), Self.id(UInt64.random(in: 10...19, using: &random))
        )
        var (ann, bob) = (PeerCalls(), PeerCalls())
        try ann.start(ids.0, to: bobID, isVideo: false, at: start)
        try bob.start(ids.1, to: carolID, isVideo: false, at: start)
        let atBob = bob.incoming(ids.0, from: carolID, isVideo: false, at: start)
        let atAnn = ann.incoming(ids.1, from: bobID, isVideo: false, at: start)
        #expect(Self.ends(atBob) == [ids.1: .busy] && atBob.last == .rings(ids.0))
        guard case .over(let given, _) = atBob[0] else { return #expect(Bool(false)) }
        #expect(given.isCrossed)
        #expect(atAnn == [])
        // The server says it too.
        let again = bob.ended(ids.1, from: nil, .busy)
        #expect(again == [])
        try bob.answer(ids.0, at: start)
        let answered = ann.answered(ids.0, from: bobID, at: start)
        #expect(answered == [.answered(ids.0)])
    }

    /// The other side does not choose what our history says.
    @Test mutating func theOtherSideDeclinesOursAndTakesBackItsOwn() throws {
        for reason in [PeerCalls.EndReason.declined, .ended, .cancelled] {
            _ = self.calls.incoming(Self.id(1), from: bobID, isVideo: false, at: start)
            #expect(Self.ends(self.calls.ended(Self.id(1), from: bobID, reason)) == [Self.id(1): .cancelled])
            try self.calls.start(Self.id(2), to: bobID, isVideo: false, at: start)
            #expect(Self.ends(self.calls.ended(Self.id(2), from: bobID, reason)) == [Self.id(2): .declined])
            self.calls = PeerCalls()
        }
    }

    /// For any events: at most one call is made or in progress, and at most one rings. Each shown call ends once, and
    /// has no event after its end.
    @Test(arguments: 1...60) mutating func eachCallEndsOnceAndTheBoundsHold(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var now = start
        var (shown, over): (Set<UUIDText>, Set<UUIDText>) = ([], [])
        func check(_ actions: [PeerCalls.Action]) {
            for action in actions {
                switch action {
                case .rings(let id):
                    #expect(!shown.contains(id) && !over.contains(id))
                    shown.insert(id)
                case .ringsThere(let id), .answered(let id): #expect(shown.contains(id) && !over.contains(id))
                case .over(let call, _):
                    #expect(shown.contains(call.id))
                    let isFirst = over.insert(call.id).inserted
                    #expect(isFirst)
                case .sendEnd, .missed: break
                }
            }
        }
        for _ in 0..<300 {
            now += .seconds(Int.random(in: 0...8, using: &random))
            let id = Self.id(UInt64.random(in: 1...30, using: &random))
            let peer = Bool.random(using: &random) ? bobID : carolID
            switch Int.random(in: 0...8, using: &random) {
            case 0:
                do {
                    try self.calls.start(id, to: peer, isVideo: false, at: now)
                    let isNew = shown.insert(id).inserted
                    #expect(isNew)
                } catch {}
            case 1, 2: check(self.calls.incoming(id, from: peer, isVideo: false, at: now))
            case 3: try? self.calls.answer(id, at: now)
            case 4: check(self.calls.ringsThere(id, from: peer))
            case 5: check(self.calls.answered(id, from: peer, at: now))
            case 6: check((try? self.calls.end(id, nil)) ?? [])
            case 7: check(self.calls.ended(id, from: Bool.random(using: &random) ? nil : peer, .ended))
            default: check(self.calls.timerFired(at: now))
            }
            let ringing = self.calls.all.count { !$0.isOurs && $0.stage == .ringing }
            #expect(ringing <= 1 && self.calls.all.count - ringing <= 1)
            #expect(Set(self.calls.all.map(\.id)) == shown.subtracting(over))
        }
        while let wake = self.calls.nextWake { check(self.calls.timerFired(at: wake)) }
        #expect(shown == over)
    }
}
