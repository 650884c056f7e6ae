package import ClusterContract
package import Contract
package import Participants

/// A frame about a call whose signature is good, and who sent it.
package struct CallFrame: Sendable {
    package var call: SignedCall
    package var caller: Caller
    package var leg: CallLeg
    package var requestID: String?
    /// By its gateway's clock. Its timestamp is compared with it.
    package var receivedAt: Timestamp
    /// How long it has waited, by the clock of Redis. Clocks of processes may be wrong (contract §13a, Time).
    package var age: Duration

    package init(
        call: SignedCall, caller: Caller, leg: CallLeg, requestID: String?, receivedAt: Timestamp, age: Duration
    ) {
        self.call = call
        self.caller = caller
        self.leg = leg
        self.requestID = requestID
        self.receivedAt = receivedAt
        self.age = age
    }

    /// Ed25519 signatures differ in their first bytes already.
    var mark: Int64 {
        Int64(truncatingIfNeeded: self.call.signature.bytes.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }
}

/// Applies what happens to the calls of a book, one event after the other, in the order of contract §3.
package struct CallRules: Sendable {
    package var book: CallBook
    package var slots: BusySlots
    private let accounts: [WhisperID: AccountStatus]
    /// Where callees are, as far as somebody has just looked.
    private let legs: [WhisperID: CallLeg]
    private let ringTime: Duration
    private let time: Timestamp

    package init(
        book: CallBook, slots: BusySlots = BusySlots(), accounts: [WhisperID: AccountStatus] = [:],
        legs: [WhisperID: CallLeg] = [:], ringTime: Duration = Limits.callRingTime, at now: Timestamp
    ) {
        self.book = book
        self.slots = slots
        self.accounts = accounts
        self.legs = legs
        self.ringTime = ringTime
        self.time = now
    }

    /// Why a caller is not heard at all; nil if it is.
    package func judge(_ caller: Caller) -> Answer? {
        guard let account = self.accounts[caller.identity], account.epoch == caller.epoch else { return .stale }
        return account.isBanned ? .refused(Refusal(.userBanned, "the identity is banned")) : nil
    }

    /// - Parameter wakeID: for a call that begins; random.
    /// - Returns: the answer; nil if the client has given up waiting for one.
    package mutating func received(_ frame: CallFrame, wakeID: UUIDText) -> Answer? {
        if let verdict = self.judge(frame.caller) { return verdict }
        let known = self.book.call(frame.call.callID, between: frame.call.from, and: frame.call.to)
        guard let saying = CallMachine.Saying(frame.call) else { return self.began(frame, known, wakeID: wakeID) }
        if known?.isRepeated(saying, mark: frame.mark) != true, !frame.call.timestamp.isWithinSkew(of: frame.receivedAt)
        {
            return .refused(.untimely)
        }
        guard var call = known, let side = call.side(of: frame.call.from) else { return .refused(.noSuchCall) }
        if case .answer = saying, self.isTooLate(frame) { return nil }
        let refusal = call.said(
            saying, by: side, on: frame.leg, mark: frame.mark, payload: frame.call.relayed(), at: self.time)
        self.put(call)
        return refusal.map { .refused($0) } ?? .done
    }

    private mutating func began(_ frame: CallFrame, _ known: CallMachine?, wakeID: UUIDText) -> Answer? {
        if var call = known {
            guard call.caller == frame.call.from else { return .refused(.otherSidesCall) }
            call.asked(frame.requestID, on: frame.leg, at: self.time)
            self.put(call)
            return .done
        }
        guard frame.call.timestamp.isWithinSkew(of: frame.receivedAt) else { return .refused(.untimely) }
        guard let callee = self.accounts[frame.call.to] else { return .refused(.noSuchCallee) }
        guard !callee.isBanned else { return .refused(.bannedCallee) }
        guard !self.isTooLate(frame) else { return nil }
        var call = CallMachine(
            callID: frame.call.callID, wakeID: wakeID, caller: frame.call.from, callee: frame.call.to,
            isVideo: frame.call.isVideo, payload: frame.call.relayed(), ringTime: self.ringTime, at: self.time)
        call.asked(frame.requestID, on: frame.leg, at: self.time)
        let crossed = self.crossed(by: call)
        var slots = self.slots
        for other in crossed { slots.release(other.wakeID) }
        if slots.take(
            wakeID, caller: call.caller, callee: call.callee, crosses: !crossed.isEmpty, at: self.time)
        {
            self.slots = slots
            call.located(.callee, on: self.legs[call.callee])
            for var other in crossed {
                other.busy(tellingCallee: true, at: self.time)
                self.put(other)
            }
            // Neither has the slot of an answered call any more. One that belongs to another process ends when that
            // looks for its slots. A call that rings for the caller continues (contract §13a).
            for other in self.book.calls(of: call.caller) + self.book.calls(of: call.callee) where other.isAnswered {
                self.slotLost(other.wakeID)
            }
        } else {
            call.busy(tellingCallee: false, at: self.time)
        }
        self.put(call)
        return .done
    }

    /// Two calls cross: the lower id lives (contract §7).
    /// - Returns: the other call, if it rings already and has to give way.
    private func crossed(by call: CallMachine) -> [CallMachine] {
        self.book.calls(of: call.callee).filter { other in
            other.caller == call.callee && other.callee == call.caller && other.isRinging
                && (call.callID.high, call.callID.low) < (other.callID.high, other.callID.low)
        }
    }

    /// One of the two is in another call now.
    package mutating func slotLost(_ wakeID: UUIDText) {
        guard var call = self.book[wakeID] else { return }
        call.slotLost(at: self.time)
        self.put(call)
    }

    /// An identity was erased: its calls have failed (contract §20.2).
    package mutating func erased(_ identity: WhisperID) {
        for var call in self.book.calls(of: identity) where !call.isOver {
            call.failed(at: self.time)
            self.put(call)
        }
    }

    private func isTooLate(_ frame: CallFrame) -> Bool { frame.age > ClusterLimits.frameAgeMax }

    /// Somebody has come.
    package mutating func bound(_ identity: WhisperID, on leg: CallLeg) {
        for var call in self.book.calls(of: identity) {
            guard let side = call.side(of: identity) else { continue }
            call.connected(side, on: leg)
            self.put(call)
        }
    }

    /// Somebody has looked where an identity is.
    package mutating func located(_ identity: WhisperID, on leg: CallLeg?) {
        for var call in self.book.calls(of: identity) {
            guard let side = call.side(of: identity) else { continue }
            call.located(side, on: leg)
            self.put(call)
        }
    }

    package mutating func delivered(_ receipt: CallReceipt) {
        guard var call = self.book[receipt.call] else { return }
        call.delivered(
            receipt.number, on: CallLeg(node: receipt.node, connection: receipt.connection),
            isWritten: receipt.isWritten,
            at: self.time)
        self.put(call)
    }

    /// A node is gone, and all its connections with it.
    package mutating func unheard(by node: NodeID) {
        for var call in Array(self.book.all) {
            for side in CallSide.allCases {
                if let leg = call.leg(of: side), leg.node == node { call.lost(side, on: leg) }
            }
            self.put(call)
        }
    }

    package mutating func tick() {
        for var call in Array(self.book.all) {
            if self.time >= call.forgetAt {
                self.slots.release(call.wakeID)
                self.book.put(nil, at: call.wakeID)
                continue
            }
            call.tick(at: self.time)
            self.put(call)
        }
    }

    private mutating func put(_ call: CallMachine) {
        let old = self.book[call.wakeID]
        guard old != call else { return }
        if call.isOver, old?.isOver != true { self.slots.release(call.wakeID) }
        self.book.put(call, at: call.wakeID)
        if call.isAnswered, old?.isRinging == true { self.answered(call) }
    }

    /// The answering callee leaves every other call that it began or talked in. A call that rings for the caller goes
    /// on.
    private mutating func answered(_ call: CallMachine) {
        if let lost = self.slots.answer(call.wakeID, caller: call.caller, callee: call.callee, at: self.time) {
            self.slotLost(lost)
        }
        for other in self.book.calls(of: call.callee)
        where other.wakeID != call.wakeID && (other.isAnswered || other.isRinging && other.caller == call.callee) {
            self.slotLost(other.wakeID)
        }
    }
}

extension CallMachine.Saying {
    /// Nil for the frame that begins a call.
    init?(_ call: SignedCall) {
        switch call.type {
        case CallAnswer.definition.type: self = .answer
        case CallICECandidate.definition.type: self = .candidate
        case CallEnd.definition.type: self = .end(call.reason.flatMap { CallEndReason(rawValue: $0) })
        default: return nil
        }
    }
}

extension Refusal {
    static let noSuchCallee = Refusal(.notFound, "no such callee")
    static let bannedCallee = Refusal(.forbidden, "the callee is banned")
    static let otherSidesCall = Refusal(.forbidden, "the call id is that of a call from the other side")
}
