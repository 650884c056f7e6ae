package import Contract

/// One call from its beginning until it is forgotten: who may say what when, what each side has yet to hear, and when time
/// is up (contract §7, §13). Holds no socket, clock or database.
package struct CallMachine: Equatable, Sendable {
    package enum Phase: Equatable, Sendable {
        /// Goes to `answered`, or to `ended`: by a side, or at `ringsUntil`. `reachedAt` is set once the callee's socket
        /// has `call_incoming`.
        case ringing(reachedAt: Timestamp?)
        /// Goes to `ended`; is forgotten after `Limits.callAnsweredTTL`.
        case answered(at: Timestamp)
        /// Terminal. Remembered for a while, for sides that have yet to hear of it. `by`: nil for the server.
        case ended(CallEndReason, at: Timestamp, by: CallSide?, answeredAt: Timestamp?)
    }

    /// A frame of one of the two, whose signature is good.
    package enum Saying: Sendable {
        case answer, candidate
        case end(CallEndReason?)
    }

    package let callID: UUIDText
    /// The call's id for push and inside the cluster. Unlike `callID` no client chooses it.
    package let wakeID: UUIDText
    package let caller: WhisperID
    package let callee: WhisperID
    package let isVideo: Bool
    package let startedAt: Timestamp
    package let ringsUntil: Timestamp

    package private(set) var phase: Phase
    /// A push has been asked for.
    package private(set) var isWoken: Bool
    /// In the order in which they were said.
    package private(set) var pendingFrames: [PendingCallFrame]
    /// The beginnings of the signatures that answered and ended it: a repeated frame is known by them.
    package private(set) var answerMark: Int64?
    package private(set) var endMark: Int64?
    package private(set) var candidatesDropped = 0

    private var nextNumber: Int64
    private var callerLeg: CallLeg?
    private var calleeLeg: CallLeg?
    /// The caller's frame that `call_ringing` or `busy` answers, and the connection it came by.
    private var openRequest: OpenRequest?
    private var marks: [Int64] = []
    /// When one of the two last said something. Not in the tables: of a call read from them it counts from the first tick.
    private var heardAt: Timestamp?

    private struct OpenRequest: Equatable, Sendable {
        var requestID: String
        var leg: CallLeg
    }

    // MARK: Beginnings

    /// It rings.
    /// - Parameter payload: of `call_incoming`.
    package init(
        callID: UUIDText, wakeID: UUIDText, caller: WhisperID, callee: WhisperID, isVideo: Bool, payload: [UInt8],
        ringTime: Duration, at now: Timestamp
    ) {
        self.init(
            callID: callID, wakeID: wakeID, caller: caller, callee: callee, isVideo: isVideo, startedAt: now,
            ringsUntil: now + ringTime, phase: .ringing(reachedAt: nil), isWoken: false, pendingFrames: [])
        self.add(.incoming, to: .callee, payload)
    }

    /// As it stands in the tables. Where the sides are is not known.
    package init(
        callID: UUIDText, wakeID: UUIDText, caller: WhisperID, callee: WhisperID, isVideo: Bool, startedAt: Timestamp,
        ringsUntil: Timestamp, phase: Phase, isWoken: Bool, pendingFrames: [PendingCallFrame], answerMark: Int64? = nil,
        endMark: Int64? = nil
    ) {
        self.callID = callID
        self.wakeID = wakeID
        self.caller = caller
        self.callee = callee
        self.isVideo = isVideo
        self.startedAt = startedAt
        self.ringsUntil = ringsUntil
        self.phase = phase
        self.isWoken = isWoken
        self.pendingFrames = []
        self.answerMark = answerMark
        self.endMark = endMark
        self.nextNumber = 1
        self.load(pendingFrames)
    }

    /// Frames that stand in the tables.
    package mutating func load(_ pendingFrames: [PendingCallFrame]) {
        self.pendingFrames = pendingFrames
        self.nextNumber = (pendingFrames.map(\.number).max() ?? 0) + 1
    }

    // MARK: What can be asked

    package func identity(of side: CallSide) -> WhisperID { side == .caller ? self.caller : self.callee }

    package func side(of identity: WhisperID) -> CallSide? {
        if identity == self.caller { return .caller }
        return identity == self.callee ? .callee : nil
    }

    package func leg(of side: CallSide) -> CallLeg? { side == .caller ? self.callerLeg : self.calleeLeg }

    package var isRinging: Bool {
        if case .ringing = self.phase { true } else { false }
    }

    package var isAnswered: Bool {
        if case .answered = self.phase { true } else { false }
    }

    package var isOver: Bool {
        if case .ended = self.phase { true } else { false }
    }

    /// When the call may be forgotten (contract §7).
    package var forgetAt: Timestamp {
        switch self.phase {
        case .ringing: max(self.startedAt + Limits.callUnansweredTTL, self.ringsUntil)
        case .answered(let answeredAt): answeredAt + Limits.callAnsweredTTL
        case .ended(_, let endedAt, _, let answeredAt):
            answeredAt == nil
                ? max(self.startedAt + Limits.callUnansweredTTL, self.ringsUntil) : endedAt + CallLimits.endedTTL
        }
    }

    /// Sides with waiting frames or a ringing call, whose connection is unknown.
    package var missing: [CallSide] {
        CallSide.allCases.filter { side in
            self.leg(of: side) == nil
                && (side == .callee && self.isRinging
                    || self.pendingFrames.contains { $0.side == side && $0.progress == .waiting })
        }
    }

    /// The request id that a frame of this kind answers, on this leg.
    package func requestID(for pending: PendingCallFrame, on leg: CallLeg) -> String? {
        guard pending.side == .caller, let openRequest, openRequest.leg == leg else { return nil }
        switch (pending.kind, self.phase) {
        case (.ringing, _), (.end, .ended(.busy, _, by: nil, answeredAt: _)): return openRequest.requestID
        default: return nil
        }
    }

    // MARK: The two speak

    /// The caller begins, or says again that it does.
    package mutating func asked(_ requestID: String?, on leg: CallLeg, at now: Timestamp) {
        self.connected(.caller, on: leg)
        self.openRequest = requestID.map { OpenRequest(requestID: $0, leg: leg) }
        // Frames that the caller may have missed are sent again; the callee gets nothing twice.
        let kept = self.pendingFrames.filter { $0.side == .caller }
        guard kept.isEmpty else {
            if kept.allSatisfy({ $0.progress == .written }) { self.sayAgain(to: .caller) }
            return
        }
        switch self.phase {
        case .ringing(.some), .answered: self.add(.ringing, to: .caller, self.ringingPayload(at: now))
        case .ended(let reason, let endedAt, by: _, answeredAt: _):
            self.add(.end, to: .caller, self.endPayload(reason, at: endedAt))
        case .ringing(nil): break
        }
    }

    /// - Parameters:
    ///   - mark: the beginning of the frame's signature.
    ///   - payload: as the other side gets it.
    /// - Returns: nil if all is well; then the other side hears of it unless it is a repetition.
    package mutating func said(
        _ saying: Saying, by side: CallSide, on leg: CallLeg, mark: Int64, payload: [UInt8], at now: Timestamp
    ) -> Refusal? {
        self.connected(side, on: leg)
        self.isHeard(side)
        self.heardAt = now
        switch saying {
        case .answer: return self.answered(by: side, mark, payload, at: now)
        case .candidate: return self.candidate(from: side, mark, payload)
        case .end(let reason):
            if self.isOver { return mark == self.endMark ? nil : .noSuchCall }
            let usual: CallEndReason = self.isRinging ? (side == .caller ? .cancelled : .declined) : .ended
            self.end(reason ?? usual, at: now, by: side)
            self.endMark = mark
            self.add(.end, to: side.other, payload)
            return nil
        }
    }

    /// Whether this very frame has been taken before (contract §3, step 7).
    package func isRepeated(_ saying: Saying, mark: Int64) -> Bool {
        switch saying {
        case .answer: !self.isOver && self.answerMark == mark
        case .candidate: !self.isOver && self.marks.contains(mark)
        case .end: self.endMark == mark
        }
    }

    private mutating func answered(by side: CallSide, _ mark: Int64, _ payload: [UInt8], at now: Timestamp) -> Refusal?
    {
        switch self.phase {
        case .ended: return .noSuchCall
        case .ringing where side == .caller, .answered where side == .caller: return .answeredItself
        // Another answer than the one that was taken comes too late: it does not ring any more.
        case .answered: return mark == self.answerMark ? nil : .noSuchCall
        case .ringing:
            self.phase = .answered(at: now)
            self.answerMark = mark
            self.pendingFrames.removeAll { $0.kind == .incoming || $0.progress == .written }
            self.add(.answer, to: .caller, payload)
            return nil
        }
    }

    private mutating func candidate(from side: CallSide, _ mark: Int64, _ payload: [UInt8]) -> Refusal? {
        guard !self.isOver else { return .noSuchCall }
        guard !self.marks.contains(mark) else { return nil }
        if self.marks.count >= CallLimits.marksMax { self.marks.removeFirst() }
        self.marks.append(mark)
        var kept = self.pendingFrames.filter { $0.side == side.other && $0.kind == .candidate }
        let open = kept.count { $0.progress != .written }
        let openMax =
            self.leg(of: side.other) == nil ? Limits.callCandidatesBufferedMax : CallLimits.candidatesUnderWayMax
        var bytes = kept.reduce(payload.count) { $0 + $1.payload.count }
        // Written candidates make room for unwritten ones.
        while open < openMax, kept.count >= Limits.callCandidatesBufferedMax || bytes > CallLimits.candidateBytesMax,
            let oldest = kept.firstIndex(where: { $0.progress == .written })
        {
            let pending = kept.remove(at: oldest)
            bytes -= pending.payload.count
            self.pendingFrames.removeAll { $0.number == pending.number }
        }
        guard open < openMax, bytes <= CallLimits.candidateBytesMax else {
            // The sender is not told: it has no use for it, and the call may well come about without this path.
            self.candidatesDropped += 1
            return nil
        }
        self.add(.candidate, to: side.other, payload)
        return nil
    }

    // MARK: The server decides

    /// The callee cannot take it, or it lost against a call that crossed it.
    /// - Parameter tellingCallee: it may have heard of the call.
    package mutating func busy(tellingCallee: Bool, at now: Timestamp) {
        guard !self.isOver else { return }
        self.endByServer(.busy, tellingCallee: tellingCallee, at: now)
    }

    /// The slot of one side was taken by a newer call. End this call, or abandoned calls accumulate.
    ///
    /// A ringing call loses the slot of its caller when the caller answers another call.
    package mutating func slotLost(at now: Timestamp) {
        switch self.phase {
        case .ringing: self.endByServer(.cancelled, tellingCallee: true, at: now)
        case .answered: self.endByServer(.ended, tellingCallee: true, at: now)
        case .ended: break
        }
    }

    /// One side is no more.
    package mutating func failed(at now: Timestamp) { self.endByServer(.failed, tellingCallee: true, at: now) }

    /// Time passes.
    package mutating func tick(at now: Timestamp) {
        if case .ringing(let reachedAt) = self.phase {
            if now >= self.ringsUntil {
                self.endByServer(.timeout, tellingCallee: true, at: now)
            } else if reachedAt == nil, now >= self.startedAt + CallLimits.wakeUnreachedAfter {
                self.isWoken = true
            }
        }
        self.forgetIfQuiet(at: now)
        for side in CallSide.allCases { self.resend(to: side, at: now) }
    }

    /// An answered call may last for hours. Unconfirmed frames are useful only while their side may be changing
    /// networks. An answer that was not written yet still waits.
    private mutating func forgetIfQuiet(at now: Timestamp) {
        guard case .answered = self.phase, !self.pendingFrames.isEmpty else { return }
        guard let heardAt = self.heardAt else {
            self.heardAt = now
            return
        }
        guard now >= heardAt + CallLimits.quietAfter else { return }
        self.candidatesDropped += self.pendingFrames.count { $0.kind == .candidate && $0.progress != .written }
        self.pendingFrames.removeAll { $0.kind == .candidate || $0.progress == .written }
    }

    /// Sends again frames that are not written `resendAfter` after sending, and all frames behind them: a call's
    /// beginning must not arrive after its end.
    private mutating func resend(to side: CallSide, at now: Timestamp) {
        var isLate = false
        for index in self.pendingFrames.indices where self.pendingFrames[index].side == side {
            guard case .sent(let at) = self.pendingFrames[index].progress else { continue }
            isLate = isLate || now >= at + CallLimits.resendAfter
            if isLate { self.pendingFrames[index].progress = .waiting }
        }
    }

    private mutating func endByServer(_ reason: CallEndReason, tellingCallee: Bool, at now: Timestamp) {
        self.end(reason, at: now, by: nil)
        self.add(.end, to: .caller, self.endPayload(reason, at: now))
        if tellingCallee { self.add(.end, to: .callee, self.endPayload(reason, at: now)) }
    }

    private mutating func end(_ reason: CallEndReason, at now: Timestamp, by side: CallSide?) {
        let answeredAt: Timestamp? = if case .answered(let at) = self.phase { at } else { nil }
        self.phase = .ended(reason, at: now, by: side, answeredAt: answeredAt)
        self.marks = []
        // A connected side gets the frames before the end, in order; a side that is away only needs the end.
        let present = CallSide.allCases.filter { self.leg(of: $0) != nil }
        self.pendingFrames.removeAll { $0.progress == .written || !present.contains($0.side) }
    }

    // MARK: Where the sides are

    /// A side is reached by this connection from now on.
    package mutating func connected(_ side: CallSide, on leg: CallLeg) {
        guard self.leg(of: side) != leg else { return }
        self.setLeg(leg, of: side)
        self.keepOnlyTheEnd(for: side)
        self.sayAgain(to: side)
    }

    private mutating func sayAgain(to side: CallSide) {
        for index in self.pendingFrames.indices where self.pendingFrames[index].side == side {
            self.pendingFrames[index].progress = .waiting
        }
    }

    /// A frame from a side confirms what was written to it: a write alone proves nothing, as the socket may be dead.
    /// While the call rings, the callee may connect elsewhere, and needs all frames.
    private mutating func isHeard(_ side: CallSide) {
        guard side == .caller || !self.isRinging else { return }
        self.pendingFrames.removeAll { $0.side == side && $0.progress == .written }
    }

    /// Presence has returned a side's connection. Ignored if one was known.
    package mutating func located(_ side: CallSide, on leg: CallLeg?) {
        guard self.leg(of: side) == nil else { return }
        if let leg { return self.connected(side, on: leg) }
        if side == .callee, self.isRinging { self.isWoken = true }
    }

    /// The side is not there any more.
    package mutating func lost(_ side: CallSide, on leg: CallLeg) {
        guard self.leg(of: side) == leg else { return }
        self.setLeg(nil, of: side)
        self.keepOnlyTheEnd(for: side)
        var candidates = 0
        self.pendingFrames.removeAll { pending in
            guard pending.side == side, pending.kind == .candidate, pending.progress != .written else { return false }
            candidates += 1
            return candidates > Limits.callCandidatesBufferedMax
        }
        self.candidatesDropped += max(0, candidates - Limits.callCandidatesBufferedMax)
        for index in self.pendingFrames.indices where self.pendingFrames[index].side == side {
            if case .sent = self.pendingFrames[index].progress { self.pendingFrames[index].progress = .waiting }
        }
    }

    /// A gateway reports whether it wrote a pending frame.
    package mutating func delivered(_ number: Int64, on leg: CallLeg, isWritten: Bool, at now: Timestamp) {
        guard let index = self.pendingFrames.firstIndex(where: { $0.number == number }) else { return }
        let pending = self.pendingFrames[index]
        // The side has another leg by now, and gets the frame there.
        guard self.leg(of: pending.side) == leg else { return }
        guard isWritten else { return self.lost(pending.side, on: leg) }
        // After the end the frame is not needed again.
        guard !self.isOver || pending.kind == .end else {
            self.pendingFrames.remove(at: index)
            return
        }
        self.pendingFrames[index].progress = .written
        if pending.kind == .incoming, case .ringing(nil) = self.phase {
            self.phase = .ringing(reachedAt: now)
            self.add(.ringing, to: .caller, self.ringingPayload(at: now))
        }
    }

    /// The frames to send now, in order. They count as sent from here on.
    package mutating func dispatch(at now: Timestamp) -> [(pending: PendingCallFrame, leg: CallLeg)] {
        var sent: [(pending: PendingCallFrame, leg: CallLeg)] = []
        for index in self.pendingFrames.indices where self.pendingFrames[index].progress == .waiting {
            guard let leg = self.leg(of: self.pendingFrames[index].side) else { continue }
            self.pendingFrames[index].progress = .sent(at: now)
            sent.append((self.pendingFrames[index], leg))
        }
        return sent
    }

    // MARK: Pieces

    /// A side that has changed its connection gets only the end of a call that is over.
    private mutating func keepOnlyTheEnd(for side: CallSide) {
        guard self.isOver else { return }
        self.pendingFrames.removeAll { $0.side == side && $0.kind != .end }
    }

    private mutating func setLeg(_ leg: CallLeg?, of side: CallSide) {
        if side == .caller { self.callerLeg = leg } else { self.calleeLeg = leg }
    }

    private mutating func add(_ kind: PendingCallFrame.Kind, to side: CallSide, _ payload: [UInt8]) {
        self.pendingFrames.append(PendingCallFrame(number: self.nextNumber, side: side, kind: kind, payload: payload))
        self.nextNumber += 1
    }

    private func ringingPayload(at now: Timestamp) -> [UInt8] {
        CallRinging(callID: self.callID, from: self.callee, timestamp: now).json
    }

    private func endPayload(_ reason: CallEndReason, at now: Timestamp) -> [UInt8] {
        CallEnded(callID: self.callID, reason: reason.rawValue, timestamp: now).json
    }
}

extension Refusal {
    /// Unknown, over, or between others: the caller cannot tell which.
    package static let noSuchCall = Refusal(.notFound, "there is no such call")
    package static let answeredItself = Refusal(.forbidden, "only the callee can answer")
}
