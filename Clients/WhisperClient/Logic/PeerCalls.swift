package import Contract

/// One call as this device sees it.
package struct PeerCall: Sendable, Equatable {
    package enum Stage: String, Sendable {
        /// Ours: on the way to the callee.
        case calling
        /// It rings at the callee, who may be us.
        case ringing
        case talking
    }

    package let id: UUIDText
    package let peer: WhisperID
    package let isOurs: Bool
    package let isVideo: Bool
    package fileprivate(set) var stage: Stage
    /// Since when they talk.
    package fileprivate(set) var talkingSince: ContinuousClock.Instant?
    /// It has given way to a call of the other side.
    package fileprivate(set) var isCrossed = false
    /// When it ends by itself.
    fileprivate var endsAt: ContinuousClock.Instant
    /// Network paths that were told, in each direction.
    fileprivate var candidatesTold = 0
    fileprivate var candidatesHeard = 0

    /// Rings here, and nobody has answered.
    fileprivate var ringsHere: Bool { !self.isOurs && self.stage == .ringing }
}

/// Decides about the calls of this device: one that is made or talked in, and one that rings here. Media, sockets and keys are
/// others' work, and the time is an argument.
package struct PeerCalls: Sendable {
    package typealias Instant = ContinuousClock.Instant

    package enum EndReason: String, Sendable, CaseIterable {
        case ended, declined, busy, timeout, failed, cancelled
    }

    package enum Action: Equatable, Sendable {
        /// Tell the person here: somebody calls.
        case rings(UUIDText)
        case ringsThere(UUIDText)
        case answered(UUIDText)
        /// The call as it was last.
        case over(PeerCall, EndReason)
        /// Somebody called while there was another call.
        case missed(WhisperID, isVideo: Bool)
        /// Tell the other side that it is over.
        case sendEnd(UUIDText, to: WhisperID, EndReason)
    }

    /// Why nothing was done at the wish of the person here.
    package enum Refusal: Error, Equatable, Sendable {
        /// There is another call.
        case busy
        /// There is no such call, or it is over.
        case unknown
        /// The call is not at a stage in which this can be done.
        case wrongStage
        case tooMany
    }

    private var calls: [UUIDText: PeerCall] = [:]
    /// Calls that are over, the latest last: a repetition does not ring again.
    private var over: [UUIDText] = []

    package init() {}

    package subscript(id: UUIDText) -> PeerCall? { self.calls[id.folded] }

    /// In the order of their ids.
    package var all: [PeerCall] { self.calls.values.sorted { $0.id < $1.id } }

    // MARK: At the wish of the person here

    /// A phone that rings keeps nobody from calling.
    package mutating func start(
        _ id: UUIDText, to peer: WhisperID, isVideo: Bool, at now: Instant
    ) throws(Refusal) {
        guard !self.calls.values.contains(where: { !$0.ringsHere }) else { throw .busy }
        guard self.calls[id.folded] == nil, !self.over.contains(id.folded) else { throw .wrongStage }
        self.calls[id.folded] = PeerCall(
            id: id, peer: peer, isOurs: true, isVideo: isVideo, stage: .calling, endsAt: now + ClientLimits.ringingMax)
    }

    package mutating func answer(_ id: UUIDText, at now: Instant) throws(Refusal) {
        guard let call = self[id] else { throw .unknown }
        guard call.ringsHere else { throw .wrongStage }
        guard !self.calls.values.contains(where: { !$0.ringsHere }) else { throw .busy }
        self.talk(call, at: now)
    }

    private mutating func talk(_ call: PeerCall, at now: Instant) {
        var call = call
        call.stage = .talking
        call.talkingSince = now
        call.endsAt = now + ClientLimits.callMax
        self.calls[call.id.folded] = call
    }

    /// A network path of ours is to be told.
    package mutating func tellCandidate(of id: UUIDText) throws(Refusal) {
        guard var call = self[id] else { throw .unknown }
        guard call.candidatesTold < ClientLimits.callCandidatesMax else { throw .tooMany }
        call.candidatesTold += 1
        self.calls[id.folded] = call
    }

    /// - Parameter reason: `nil` for what the stage says: cancelled, declined or ended.
    package mutating func end(_ id: UUIDText, _ reason: EndReason?) throws(Refusal) -> [Action] {
        guard let call = self[id] else { throw .unknown }
        let usual: EndReason =
            switch call.stage {
            case .talking: .ended
            case .calling, .ringing: call.isOurs ? .cancelled : .declined
            }
        return self.close(call, reason ?? usual, tells: true)
    }

    // MARK: From the other side

    /// Somebody calls. The caller has checked who signed it.
    package mutating func incoming(
        _ id: UUIDText, from peer: WhisperID, isVideo: Bool, at now: Instant
    ) -> [Action] {
        guard self.calls[id.folded] == nil, !self.over.contains(id.folded) else { return [] }
        var actions: [Action] = []
        if var own = self.calls.values.first(where: { !$0.ringsHere }) {
            let doCross = own.peer == peer && own.isOurs && own.stage != .talking
            guard doCross else { return self.refuse(id, from: peer, isVideo: isVideo) }
            // The lower id lives, on both sides.
            guard id.folded < own.id.folded else {
                self.remember(id)
                return []
            }
            own.isCrossed = true
            actions = self.close(own, .busy, tells: false)
        }
        guard !self.calls.values.contains(where: \.ringsHere) else {
            return actions + self.refuse(id, from: peer, isVideo: isVideo)
        }
        self.calls[id.folded] = PeerCall(
            id: id, peer: peer, isOurs: false, isVideo: isVideo, stage: .ringing, endsAt: now + ClientLimits.ringingMax)
        return actions + [.rings(id)]
    }

    package mutating func ringsThere(_ id: UUIDText, from peer: WhisperID) -> [Action] {
        guard var call = self[id], call.isOurs, call.peer == peer, call.stage == .calling else { return [] }
        call.stage = .ringing
        self.calls[id.folded] = call
        return [.ringsThere(call.id)]
    }

    package mutating func answered(_ id: UUIDText, from peer: WhisperID, at now: Instant) -> [Action] {
        guard let call = self[id], call.isOurs, call.peer == peer, call.stage != .talking else { return [] }
        self.talk(call, at: now)
        return [.answered(call.id)]
    }

    /// - Returns: whether a network path of the other side is to be shown.
    package mutating func heardCandidate(of id: UUIDText, from peer: WhisperID) -> Bool {
        guard var call = self[id], call.peer == peer, call.candidatesHeard < ClientLimits.callCandidatesMax else {
            return false
        }
        call.candidatesHeard += 1
        self.calls[id.folded] = call
        return true
    }

    /// - Parameter peer: `nil` if the server itself has ended it.
    package mutating func ended(_ id: UUIDText, from peer: WhisperID?, _ reason: EndReason) -> [Action] {
        guard let call = self[id], peer == nil || peer == call.peer else { return [] }
        return self.close(call, Self.credible(reason, for: call), tells: false)
    }

    /// The other side can only decline our call, and take back its own.
    private static func credible(_ reason: EndReason, for call: PeerCall) -> EndReason {
        switch (call.stage, reason) {
        case (.talking, _): reason
        case (_, .cancelled), (_, .ended): call.isOurs ? .declined : .cancelled
        case (_, .declined): call.isOurs ? .declined : .cancelled
        case (_, .busy), (_, .timeout), (_, .failed): reason
        }
    }

    // MARK: Time

    package var nextWake: Instant? { self.calls.values.map(\.endsAt).min() }

    package mutating func timerFired(at now: Instant) -> [Action] {
        self.all.filter { $0.endsAt <= now }.flatMap { call in
            self.close(call, call.stage == .talking ? .ended : .timeout, tells: true)
        }
    }

    // MARK: Ends

    private mutating func close(_ call: PeerCall, _ reason: EndReason, tells: Bool) -> [Action] {
        self.calls[call.id.folded] = nil
        self.remember(call.id)
        let told: [Action] = tells ? [.sendEnd(call.id, to: call.peer, reason)] : []
        return told + [.over(call, reason)]
    }

    private mutating func refuse(_ id: UUIDText, from peer: WhisperID, isVideo: Bool) -> [Action] {
        self.remember(id)
        return [.sendEnd(id, to: peer, .busy), .missed(peer, isVideo: isVideo)]
    }

    private mutating func remember(_ id: UUIDText) {
        self.over.append(id.folded)
        if self.over.count > ClientLimits.callsRememberedMax { self.over.removeFirst() }
    }
}

extension UUIDText {
    /// In lower case: ids are compared without regard to case.
    fileprivate var folded: UUIDText { UUIDText(high: self.high, low: self.low) }

    fileprivate static func < (one: UUIDText, other: UUIDText) -> Bool { (one.high, one.low) < (other.high, other.low) }
}
