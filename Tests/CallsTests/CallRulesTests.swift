import CallsCore
import ClusterContract
import Contract
import Participants
import Testing
import TestKit

private let start = Timestamp(milliseconds: 1_730_000_000_000)
private let people = ["WSP-JBPU-D452-TLT4", "WSP-7NUF-DNEU-IGIL", "WSP-AAAA-AAAA-AAAA", "WSP-7777-7777-7777"]
    .map { WhisperID($0)! }
private let (alice, bob, carol, dave) = (people[0], people[1], people[2], people[3])
private let accounts = Dictionary(
    uniqueKeysWithValues: people.map { ($0, AccountStatus(epoch: Epoch(value: 1), isBanned: false)) })

private func leg(_ identity: WhisperID) -> CallLeg {
    CallLeg(node: NodeID(value: 1), connection: ConnectionID(value: identity.bits))
}

private func rules(
    at now: Timestamp = start, _ change: (inout [WhisperID: AccountStatus]) -> Void = { _ in }
) -> CallRules {
    var accounts = accounts
    change(&accounts)
    return CallRules(
        book: CallBook(), accounts: accounts, legs: Dictionary(uniqueKeysWithValues: people.map { ($0, leg($0)) }),
        at: now)
}

private let ids = ["00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"]

private func frame(
    _ definition: FrameDefinition, _ callID: String, _ from: WhisperID, _ to: WhisperID, epoch: Int64 = 1,
    timestamp: Timestamp = start, receivedAt: Timestamp = start, age: Duration = .zero,
    mark: UInt8 = .random(in: 0...255)
) throws -> CallFrame {
    let nonce = String(decoding: Base64.encode([UInt8](repeating: 1, count: 24)), as: UTF8.self)
    let sig = String(
        decoding: Base64.encode([mark] + [UInt8](repeating: .random(in: 0...255), count: 63)), as: UTF8.self)
    let more = definition.type == CallInitiate.definition.type ? #","isVideo":true"# : ""
    let json =
        #"{"protocolVersion":1,"cryptoVersion":1,"callId":"\#(callID)","from":"\#(from)","to":"\#(to)","timestamp":\#(timestamp.milliseconds),"nonce":"\#(nonce)","ciphertext":"YQ==","sig":"\#(sig)"\#(more)}"#
    let payload = try FrameDecoder.payload(bare: Array(json.utf8), schema: definition.schema)
    return CallFrame(
        call: try SignedCall(payload, type: definition.type),
        caller: Caller(identity: from, epoch: Epoch(value: epoch)),
        leg: leg(from),
        requestID: nil, receivedAt: receivedAt, age: age)
}

extension CallRules {
    fileprivate mutating func hear(_ frame: CallFrame) -> String {
        switch self.received(frame, wakeID: .random()) {
        case .done: "done"
        case .stale: "stale"
        case .refused(let refusal): refusal.code.rawValue
        case nil: "nothing"
        default: "?"
        }
    }

    /// One calls and the other answers.
    fileprivate mutating func talk(_ id: String, _ one: WhisperID, _ other: WhisperID) throws {
        let answers = [
            self.hear(try frame(CallInitiate.definition, id, one, other)),
            self.hear(try frame(CallAnswer.definition, id, other, one)),
        ]
        #expect(answers == ["done", "done"])
        let phase = self.phase(id, one, other)
        #expect(phase == "answered")
    }

    /// The phase of a call, or the reason of its end.
    fileprivate func phase(_ id: String, _ one: WhisperID, _ other: WhisperID) -> String {
        switch self.book.call(UUIDText(id)!, between: one, and: other)?.phase {
        case nil: "unknown"
        case .ringing: "ringing"
        case .answered: "answered"
        case .ended(let reason, at: _, by: _, answeredAt: _): reason.rawValue
        }
    }
}

@Suite struct CallRulesTests {
    @Test func theChecksHaveTheirOrder() throws {
        var rules = rules { $0[carol] = AccountStatus(epoch: Epoch(value: 1), isBanned: true) }
        let initiate = CallInitiate.definition
        let late = start - .seconds(601)
        let nobody = WhisperID("WSP-BBBB-BBBB-BBBB")!
        #expect(rules.hear(try frame(initiate, ids[0], alice, nobody, epoch: 2, timestamp: late)) == "stale")
        #expect(rules.hear(try frame(initiate, ids[0], carol, nobody, timestamp: late)) == "USER_BANNED")
        #expect(rules.hear(try frame(initiate, ids[0], alice, nobody, timestamp: late)) == "INVALID_TIMESTAMP")
        #expect(rules.hear(try frame(initiate, ids[0], alice, nobody)) == "NOT_FOUND")
        #expect(rules.hear(try frame(initiate, ids[0], alice, carol)) == "FORBIDDEN")
        #expect(rules.hear(try frame(CallEnd.definition, ids[0], alice, bob, timestamp: late)) == "INVALID_TIMESTAMP")
        #expect(rules.hear(try frame(CallEnd.definition, ids[0], alice, bob)) == "NOT_FOUND")
        #expect(rules.hear(try frame(initiate, ids[0], alice, bob)) == "done")
        // Accepted before: also outside of the time window.
        #expect(rules.hear(try frame(initiate, ids[0], alice, bob, timestamp: late)) == "done")
    }

    /// Its client has been told that it was not accepted.
    @Test func aCallThatWaitedTooLongDoesNotBegin() throws {
        var rules = rules()
        let age = ClusterLimits.frameAgeMax + .milliseconds(1)
        #expect(rules.hear(try frame(CallInitiate.definition, ids[0], alice, bob, age: age)) == "nothing")
        #expect(rules.phase(ids[0], alice, bob) == "unknown")
    }

    @Test(arguments: [-60, 60]) func theClockOfAGatewayDoesNotMakeACallOld(seconds: Int) throws {
        var rules = rules()
        let receivedAt = start + .seconds(seconds)
        #expect(rules.hear(try frame(CallInitiate.definition, ids[0], alice, bob, receivedAt: receivedAt)) == "done")
        #expect(rules.hear(try frame(CallAnswer.definition, ids[0], bob, alice, receivedAt: receivedAt)) == "done")
    }

    @Test(arguments: [true, false]) func ofTwoCallsThatCrossTheLowerLives(isLowerFirst: Bool) throws {
        var rules = rules()
        let (first, second) = isLowerFirst ? (ids[0], ids[1]) : (ids[1], ids[0])
        #expect(rules.hear(try frame(CallInitiate.definition, first, alice, bob)) == "done")
        #expect(rules.hear(try frame(CallInitiate.definition, second, bob, alice)) == "done")
        #expect(rules.phase(ids[0], alice, bob) == "ringing")
        #expect(rules.phase(ids[1], alice, bob) == "busy")
        let live = rules.book.call(UUIDText(ids[0])!, between: alice, and: bob)!.wakeID
        let (caller, callee) = isLowerFirst ? (alice, bob) : (bob, alice)
        #expect(rules.slots.after.mapValues(\.call) == [caller: live])
        #expect(rules.slots.rings == [callee: live])
    }

    @Test func anIDIsOneWithoutRegardToCase() throws {
        var rules = rules()
        let id = "abcdefab-0000-4000-8000-00000000abcd"
        #expect(rules.hear(try frame(CallInitiate.definition, id, alice, bob)) == "done")
        #expect(rules.hear(try frame(CallAnswer.definition, id.uppercased(), bob, alice)) == "done")
        #expect(rules.phase(id, alice, bob) == "answered")
    }

    @Test func whoIsInACallIsBusyUntilItEnds() throws {
        var rules = rules()
        #expect(rules.hear(try frame(CallInitiate.definition, ids[0], alice, bob)) == "done")
        #expect(rules.hear(try frame(CallInitiate.definition, ids[1], carol, alice)) == "done")
        #expect(rules.phase(ids[1], carol, alice) == "busy")
        #expect(rules.hear(try frame(CallEnd.definition, ids[0], bob, alice)) == "done")
        #expect(rules.phase(ids[0], alice, bob) == "declined")
        #expect(rules.slots.after.isEmpty && rules.slots.rings.isEmpty)
        let third = "00000000-0000-4000-8000-000000000003"
        #expect(rules.hear(try frame(CallInitiate.definition, third, carol, alice)) == "done")
        #expect(rules.phase(third, carol, alice) == "ringing")
    }

    /// One person, one slot: nobody else would end the older call, and its candidates would be kept for 12 h.
    @Test func whoBeginsAnotherCallEndsTheAnsweredOne() throws {
        var rules = rules()
        try rules.talk(ids[0], alice, bob)
        #expect(rules.hear(try frame(CallInitiate.definition, ids[1], bob, carol)) == "done")
        #expect(rules.phase(ids[1], bob, carol) == "ringing")
        #expect(rules.phase(ids[0], alice, bob) == "ended")
        let older = try #require(rules.book.call(UUIDText(ids[0])!, between: alice, and: bob))
        #expect(older.pendingFrames.filter { $0.kind == .end }.map(\.side) == [.caller, .callee])
        #expect(rules.slots.after[alice] == nil)
    }

    /// Without a slot there is no other call: who is refused because the callee is busy stays in the older one.
    @Test func whoIsRefusedKeepsTheAnsweredCall() throws {
        var rules = rules()
        try rules.talk(ids[0], alice, bob)
        rules.slots = BusySlots(
            rules.slots.after.merging([carol: BusySlots.Slot(call: .random(), isAnswered: false, seenAt: start)]) {
                _, new in new
            })
        #expect(rules.hear(try frame(CallInitiate.definition, ids[1], alice, carol)) == "done")
        #expect(rules.phase(ids[1], alice, carol) == "busy")
        #expect(rules.phase(ids[0], alice, bob) == "answered")
    }

    /// Each time both slots have gone to calls of other processes, and come free there.
    @Test func answeredCallsOfAPairDoNotPileUp() throws {
        var rules = rules()
        for index in 1...9 {
            rules.slots = BusySlots()
            try rules.talk("00000000-0000-4000-8000-00000000000\(index)", alice, bob)
            let live = rules.book.all.filter { !$0.isOver }
            #expect(live.count == 1)
        }
        #expect(rules.book.all.count == 9)
    }

    @Test func anAnsweredCallThatHasLostALineEnds() throws {
        var rules = rules()
        #expect(rules.hear(try frame(CallInitiate.definition, ids[0], alice, bob)) == "done")
        let wakeID = rules.book.call(UUIDText(ids[0])!, between: alice, and: bob)!.wakeID
        #expect(rules.hear(try frame(CallAnswer.definition, ids[0], bob, alice)) == "done")
        rules.slotLost(wakeID)
        rules.slotLost(wakeID)
        rules.slotLost(.random())
        #expect(rules.phase(ids[0], alice, bob) == "ended")
        let ends = try #require(rules.book[wakeID]).pendingFrames.filter { $0.kind == .end }
        #expect(ends.map(\.side) == [.caller, .callee])
        #expect(rules.slots.after.isEmpty)
        #expect(rules.hear(try frame(CallICECandidate.definition, ids[0], alice, bob)) == "NOT_FOUND")
    }

    /// Contract §13a: otherwise whoever rings somebody keeps that person from calling.
    @Test func whoIsRungCallsOutAndTheRingingCallGoesOn() throws {
        var rules = rules()
        #expect(rules.hear(try frame(CallInitiate.definition, ids[0], alice, bob)) == "done")
        #expect(rules.hear(try frame(CallInitiate.definition, ids[1], bob, carol)) == "done")
        #expect(rules.phase(ids[0], alice, bob) == "ringing")
        #expect(rules.phase(ids[1], bob, carol) == "ringing")
        // For third callers bob is busy as before, also when his own call is over.
        let third = "00000000-0000-4000-8000-000000000003"
        let fourth = "00000000-0000-4000-8000-000000000004"
        #expect(rules.hear(try frame(CallInitiate.definition, third, dave, bob)) == "done")
        #expect(rules.phase(third, dave, bob) == "busy")
        #expect(rules.hear(try frame(CallEnd.definition, ids[1], bob, carol)) == "done")
        #expect(rules.hear(try frame(CallInitiate.definition, fourth, dave, bob)) == "done")
        #expect(rules.phase(fourth, dave, bob) == "busy")
        #expect(rules.hear(try frame(CallAnswer.definition, ids[0], bob, alice)) == "done")
        #expect(rules.phase(ids[0], alice, bob) == "answered")
        #expect(Set(rules.slots.after.keys) == [alice, bob] && rules.slots.rings.isEmpty)
    }

    /// One device: who takes a call has left the one it began or talked in.
    @Test(arguments: [false, true]) func whoAnswersLeavesTheCallItBegan(isAnswered: Bool) throws {
        var rules = rules()
        #expect(rules.hear(try frame(CallInitiate.definition, ids[0], alice, bob)) == "done")
        #expect(rules.hear(try frame(CallInitiate.definition, ids[1], bob, carol)) == "done")
        if isAnswered { #expect(rules.hear(try frame(CallAnswer.definition, ids[1], carol, bob)) == "done") }
        #expect(rules.phase(ids[0], alice, bob) == "ringing")
        #expect(rules.hear(try frame(CallAnswer.definition, ids[0], bob, alice)) == "done")
        #expect(rules.phase(ids[0], alice, bob) == "answered")
        #expect(rules.phase(ids[1], bob, carol) == (isAnswered ? "ended" : "cancelled"))
        let left = try #require(rules.book.call(UUIDText(ids[1])!, between: bob, and: carol))
        #expect(Set(left.pendingFrames.filter { $0.kind == .end }.map(\.side)) == [.caller, .callee])
        #expect(Set(rules.slots.after.keys) == [alice, bob] && rules.slots.rings.isEmpty)
    }

    /// A call that rings for a caller continues when the caller's own call is answered.
    @Test func anAnswerEndsNothingThatRingsForTheCaller() throws {
        var rules = rules()
        #expect(rules.hear(try frame(CallInitiate.definition, ids[0], alice, bob)) == "done")
        try rules.talk(ids[1], bob, carol)
        #expect(rules.phase(ids[0], alice, bob) == "ringing")
    }

    /// When two calls cross, the one with the lower id lives, even if its callee is rung by a third party.
    @Test func theLowerOfTwoCallsLivesBesideOneThatRings() throws {
        var rules = rules()
        let ring = "00000000-0000-4000-8000-000000000003"
        #expect(rules.hear(try frame(CallInitiate.definition, ring, alice, bob)) == "done")
        #expect(rules.hear(try frame(CallInitiate.definition, ids[1], bob, carol)) == "done")
        #expect(rules.hear(try frame(CallInitiate.definition, ids[0], carol, bob)) == "done")
        #expect(rules.phase(ids[1], bob, carol) == "busy")
        #expect(rules.phase(ids[0], carol, bob) == "ringing")
        #expect(rules.phase(ring, alice, bob) == "ringing")
        #expect(rules.hear(try frame(CallAnswer.definition, ids[0], bob, carol)) == "done")
        #expect(rules.phase(ids[0], carol, bob) == "answered")
    }

    /// A caller that cannot begin a call ends none by trying.
    @Test func aCallThatCannotBeginEndsNoneThatItCrosses() throws {
        var rules = rules()
        #expect(rules.hear(try frame(CallInitiate.definition, ids[1], alice, bob)) == "done")
        let own = "00000000-0000-4000-8000-000000000003"
        #expect(rules.hear(try frame(CallInitiate.definition, own, bob, carol)) == "done")
        #expect(rules.hear(try frame(CallInitiate.definition, ids[0], bob, alice)) == "done")
        #expect(rules.phase(ids[0], alice, bob) == "busy")
        #expect(rules.phase(ids[1], alice, bob) == "ringing")
        #expect(rules.phase(own, bob, carol) == "ringing")
    }

    @Test func aBatchCanBeTakenBack() throws {
        var book = rules().book
        #expect(book.changes.isEmpty)
        var first = CallRules(book: book, accounts: accounts, at: start)
        #expect(first.hear(try frame(CallInitiate.definition, ids[0], alice, bob)) == "done")
        book = first.book
        #expect(book.changes.count == 1)
        book.takeBack()
        #expect(book.all.isEmpty && book.calls(of: alice).isEmpty)
        #expect(book.call(UUIDText(ids[0])!, between: alice, and: bob) == nil)
    }

    /// Everybody calls everybody, in whatever order: nobody is in two calls beside one that rings, and each call that lives holds
    /// a slot or a ring of both.
    @Test(arguments: Prove.seeds(0..<200)) func nobodyIsInTwoCalls(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let calls = (0..<6).map { index in
            let pair = people.shuffled(using: &random)
            return (id: "00000000-0000-4000-8000-00000000000\(index)", from: pair[0], to: pair[1])
        }
        var book = CallBook()
        var slots = BusySlots()
        var now = start
        for _ in 0..<60 {
            now = now + .milliseconds(Int.random(in: 0...3_000, using: &random))
            var rules = CallRules(book: book, slots: slots, accounts: accounts, at: now)
            rules.tick()
            let call = calls.randomElement(using: &random)!
            let isReversed = Bool.random(using: &random)
            let (from, to) = isReversed ? (call.to, call.from) : (call.from, call.to)
            let kind = [
                CallInitiate.definition, CallInitiate.definition, CallAnswer.definition, CallICECandidate.definition,
                CallEnd.definition,
            ]
            .randomElement(using: &random)!
            _ = rules.hear(try frame(kind, call.id, from, to, timestamp: now, receivedAt: now))
            book = rules.book
            slots = BusySlots(rules.slots.after, rings: rules.slots.rings)
            book.commit()
            for identity in people {
                let live = book.calls(of: identity).filter { !$0.isOver }
                let rung = live.filter { $0.isRinging && $0.callee == identity }
                #expect(live.count - rung.count <= 1 && live.count <= 2)
            }
            var held: [UUIDText: Set<WhisperID>] = [:]
            for (identity, slot) in slots.after { held[slot.call, default: []].insert(identity) }
            for (identity, call) in slots.rings { held[call, default: []].insert(identity) }
            let live = book.all.filter { !$0.isOver }
            #expect(held == Dictionary(uniqueKeysWithValues: live.map { ($0.wakeID, [$0.caller, $0.callee]) }))
        }
    }
}

@Suite struct BusySlotsTests {
    private let one = UUIDText.random()
    private let other = UUIDText.random()

    @Test func aLineIsTakenOnce() {
        var slots = BusySlots()
        #expect(slots.take(self.one, caller: alice, callee: bob, at: start) == true)
        #expect(slots.take(self.other, caller: carol, callee: bob, at: start) == false)
        #expect(slots.take(self.other, caller: alice, callee: carol, at: start) == false)
        #expect(slots.after[carol] == nil)
        slots.release(self.one)
        #expect(slots.take(self.other, caller: carol, callee: bob, at: start) == true)
        #expect(slots.changes.removed.isEmpty)
        #expect(slots.changes.added.map(\.identity) == [carol])
        #expect(slots.ringChanges.added.map(\.identity) == [bob])
    }

    @Test func aRingKeepsOthersAwayAndItsOwnerFree() {
        var slots = BusySlots()
        let third = UUIDText.random()
        #expect(slots.take(self.one, caller: alice, callee: bob, at: start) == true)
        #expect(slots.take(self.other, caller: bob, callee: carol, at: start) == true)
        #expect(slots.take(third, caller: dave, callee: bob, at: start) == false)
        #expect(slots.take(third, caller: bob, callee: dave, at: start) == false)
        // The answering callee's slot is taken from the call that had it.
        #expect(slots.answer(self.one, caller: alice, callee: bob, at: start) == self.other)
        #expect(slots.after.mapValues(\.call) == [alice: self.one, bob: self.one])
        #expect(slots.rings == [carol: self.other])
    }

    /// The line of a party whose phone died in a call is free again after a new call of that party, or a long absence.
    @Test func anAnsweredCallDoesNotHoldALineForever() {
        var slots = BusySlots()
        #expect(slots.take(self.one, caller: alice, callee: bob, at: start) == true)
        #expect(slots.answer(self.one, caller: alice, callee: bob, at: start) == nil)
        slots = BusySlots(slots.after)
        let later = start + CallLimits.slotLostAfter
        #expect(slots.take(self.other, caller: carol, callee: bob, at: later) == false)
        // Time in which presence could not be checked does not count as absence.
        var blind = BusySlots(slots.after, notedSince: start + .seconds(1))
        let looked = later + .seconds(1)
        #expect(blind.take(self.other, caller: carol, callee: bob, at: looked) == false)
        #expect(blind.take(self.other, caller: carol, callee: bob, at: looked + .milliseconds(1)) == true)
        var calling = slots
        #expect(calling.take(self.other, caller: alice, callee: carol, at: start) == true)
        #expect(calling.changes.removed == [alice])
        #expect(slots.take(self.other, caller: carol, callee: bob, at: later + .milliseconds(1)) == true)
        #expect(slots.after[alice]?.call == self.one)
    }
}
