package import Contract

/// Keeps one participant's connections to all others of a room: a full mesh (contract §15.2, §15.4). Holds no socket, clock,
/// key or WebRTC stack: it says what each of them is to do, and hears what has come of it.
///
/// Of each pair the one with the lower seat offers. Signals may get lost, come twice and come late. An offer that is not answered
/// is sent again as it was, which is harmless to do twice, and later replaced. So any pair that can talk is connected in the end.
package struct MeshMachine {
    package typealias Instant = ContinuousClock.Instant

    package enum State: Equatable, Sendable {
        /// Without a connection to the server. Connections to others go on.
        case away
        /// `room_join` is out, or is to be sent again.
        case joining
        case joined
        /// Terminal.
        case over(End)
    }

    package enum End: Equatable, Sendable {
        case left
        case closed
        /// The host has sent us away.
        case removed
        /// There is no such room any more, or we have no seat there.
        case notFound
        /// The server takes this client's frames for wrong.
        case broken
    }

    package enum Action: Equatable, Sendable {
        /// `room_join` with the room's id.
        case join
        /// `room_signal`.
        case signal(RoomSignalKind, to: PrincipalID, SignalContent)
        /// Something for the WebRTC stack.
        case link(PrincipalID, number: Int, LinkOrder)
        /// The room is as `state` says now.
        case changed
        case over(End)
    }

    /// A connection that is not there is looked after so often: its offer is sent again, then made anew.
    private static let again = Backoff(first: .seconds(5), longest: .seconds(60))
    /// An offer is sent so often as it was before another one is made.
    private static let sendingsMax = 3
    /// What a WebRTC stack may take to describe a connection, or to bring it up.
    static let stackTime = Duration.seconds(20)
    /// After a doubt the server is asked what is so.
    static let doubtTime = Duration.seconds(2)
    private static let rejoin = Backoff(first: .milliseconds(500), longest: .seconds(15))

    package let own: PrincipalID
    package let room: UUIDText
    package private(set) var state = State.away
    /// As the server told it last. The newest revision counts.
    package private(set) var shown: RoomState?
    private var peers: [PrincipalID: Peer] = [:]
    /// This identity or guest had the seat before: others may hold connections to what it was then.
    private let isReturning: Bool
    private var failures = 0
    /// When `room_join` is due.
    private var joinsAt: Instant?
    /// Connections made so far, over all peers.
    private var links = 0

    /// - Parameter isReturning: this identity or guest had the seat before, with another machine.
    package init(room: UUIDText, own: PrincipalID, isReturning: Bool) {
        self.room = room
        self.own = own
        self.isReturning = isReturning
    }

    package var seat: Int? { self.shown?.participants.first { $0.participant == self.own }?.seat }

    /// Whether content can be exchanged with somebody now.
    package func isLinked(to peer: PrincipalID) -> Bool { self.peers[peer]?.phase == .connected }

    // MARK: The server

    package mutating func connected() -> [Action] {
        guard self.state == .away else { return [] }
        self.state = .joining
        return [.join]
    }

    package mutating func disconnected() {
        if case .over = self.state { return }
        self.state = .away
        (self.failures, self.joinsAt) = (0, nil)
    }

    /// The server refused `room_join`, or did not answer (`nil`).
    package mutating func joinFailed(_ code: ErrorCode?, retryAfter: Duration?, at now: Instant) -> [Action] {
        guard self.state == .joining || self.state == .joined else { return [] }
        switch code {
        case nil, .internalError, .rateLimited, .notRegistered, .invalidTimestamp:
            self.failures += 1
            self.joinsAt = now + max(retryAfter ?? .zero, Self.rejoin.pause(after: self.failures))
            return []
        case .notFound: return self.end(.notFound)
        default: return self.end(.broken)
        }
    }

    /// `room_joined` came.
    package mutating func joined(_ room: RoomState, at now: Instant) -> [Action] {
        if case .over = self.state { return [] }
        let wasJoined = self.state == .joined
        self.state = .joined
        (self.failures, self.joinsAt) = (0, nil)
        var actions = self.learn(room)
        for id in self.peers.keys.sorted(by: self.bySeat) {
            // What was sent before may be lost with the connection to the server. Whoever has said `bye` and still has a seat has
            // come back, or does not mean it.
            let isNew = self.peers[id]?.phase == .idle || self.peers[id]?.phase == .closed
            if !wasJoined || isNew { actions += self.begin(id, at: now) }
        }
        return actions
    }

    /// `room_event` came.
    package mutating func changed(
        _ event: RoomEvent.Event, _ participant: PrincipalID?, _ room: RoomState, at now: Instant
    ) -> [Action] {
        if case .over = self.state { return [] }
        switch (event, participant) {
        case (.closed, _): return self.end(.closed)
        case (.removed, self.own): return self.end(.removed)
        default: break
        }
        guard room.revision > self.shown?.revision ?? 0 else { return [] }
        // It has overtaken the answer to `room_join`, which then is the older one.
        if self.state == .joining { return self.learn(room) }
        guard self.state == .joined else { return [] }
        let before = self.peers.filter(\.value.participant.isConnected).keys
        var actions = self.learn(room)
        for id in self.peers.keys.sorted(by: self.bySeat) {
            // Back counts even if it was never seen to be away. So does another seat.
            let isBack = event == .back && id == participant
            if !before.contains(id) || isBack || self.peers[id]?.phase == .idle { actions += self.begin(id, at: now) }
        }
        return actions
    }

    /// Takes the newest state over.
    private mutating func learn(_ room: RoomState) -> [Action] {
        guard room.revision >= self.shown?.revision ?? 0 else { return [] }
        let isNews = room != self.shown
        self.shown = room
        var actions: [Action] = []
        let others = room.participants.filter { $0.participant != self.own }
        for id in self.peers.keys.sorted(by: self.bySeat) {
            let seat = others.first { $0.participant == id }?.seat
            // Who comes in again has another seat, and nothing of before.
            guard seat != self.peers[id]?.participant.seat else { continue }
            actions += self.drop(id)
            self.peers[id] = nil
        }
        for other in others { self.peers[other.participant, default: Peer(other)].participant = other }
        return actions + (isNews ? [.changed] : [])
    }

    /// Everybody is told `bye`, then `room_leave` may go out.
    package mutating func leave() -> [Action] {
        var actions: [Action] = []
        if self.state == .joined {
            for id in self.peers.keys.sorted(by: self.bySeat) {
                guard let peer = self.peers[id], peer.participant.isConnected, peer.link > 0 else { continue }
                actions.append(.signal(.bye, to: id, SignalContent(.bye)))
            }
        }
        return actions + self.end(.left)
    }

    private mutating func end(_ end: End) -> [Action] {
        if case .over = self.state { return [] }
        let actions = self.peers.keys.sorted(by: self.bySeat).flatMap { self.drop($0) }
        self.peers = [:]
        self.state = .over(end)
        return actions + [.over(end)]
    }

    /// What the server told may be behind the facts: it is asked.
    private mutating func doubt(at now: Instant) {
        guard self.state == .joined else { return }
        self.joinsAt = min(self.joinsAt ?? now + Self.doubtTime, now + Self.doubtTime)
    }

    // MARK: Who offers

    private func bySeat(_ one: PrincipalID, _ other: PrincipalID) -> Bool {
        self.peers[one]?.participant.seat ?? 0 < self.peers[other]?.participant.seat ?? 0
    }

    /// Of each pair the lower seat (contract §15.2).
    private func offers(to peer: Peer) -> Bool { (self.seat ?? Int.max) < peer.participant.seat }

    /// Both are connected to the server now, perhaps again.
    private mutating func begin(_ id: PrincipalID, at now: Instant) -> [Action] {
        guard self.state == .joined, let peer = self.peers[id], peer.participant.isConnected else { return [] }
        switch peer.phase {
        case .connected: return []
        case .offered where peer.sentAt.map({ now - $0 < RoomLimits.signalsKeptFor }) ?? false:
            // The server has kept it, and gives it to whoever is back.
            self.peers[id]?.since = now
            return []
        case .answering, .settling, .offering:
            self.peers[id]?.since = now
            return []
        case .idle, .offered, .awaiting, .closed:
            self.peers[id]?.tries = 0
            return self.offers(to: peer) ? self.offer(id, at: now) : self.awaitOffer(of: id, at: now)
        }
    }

    /// A connection of its own begins with the stack's offer.
    private mutating func offer(_ id: PrincipalID, at now: Instant) -> [Action] {
        let actions = self.drop(id)
        self.links += 1
        self.peers[id]?.begin(.offering, link: self.links, at: now)
        return actions + [.link(id, number: self.links, .offer)]
    }

    /// The other one offers. One that has a connection to a former self of ours has to be asked.
    private mutating func awaitOffer(of id: PrincipalID, at now: Instant) -> [Action] {
        let isFirst = self.peers[id]?.phase == .idle
        self.peers[id]?.phase = .awaiting
        self.peers[id]?.since = now
        guard isFirst, self.isReturning else { return [] }
        return [.signal(.restart, to: id, SignalContent(.restart))]
    }

    private mutating func drop(_ id: PrincipalID) -> [Action] {
        guard let peer = self.peers[id], peer.link > 0 else { return [] }
        self.peers[id]?.begin(.idle, link: 0, at: nil)
        return [.link(id, number: peer.link, .drop)]
    }

    // MARK: Signals

    /// A signal came that its sender has signed, and that opens.
    /// - Parameters:
    ///   - timestamp: the sender's.
    ///   - serverTime: now, by the server's clock.
    package mutating func received(
        _ content: SignalContent, from id: PrincipalID, _ timestamp: Timestamp, serverTime: Timestamp, at now: Instant
    ) -> [Action] {
        guard self.state == .joined else { return [] }
        // A server's clock was wrong when it was signed. It must not shut out what is signed by the right clock.
        if self.peers[id]?.remote?.timestamp.isAhead(of: serverTime) == true {
            self.peers[id]?.remote?.timestamp = Timestamp(milliseconds: 0)
        }
        guard let peer = self.peers[id] else {
            // Somebody has come whom nobody has told of.
            self.doubt(at: now)
            return []
        }
        // It is there, and nobody has told of that.
        if !peer.participant.isConnected { self.doubt(at: now) }
        switch content.kind {
        case .offer, .restart:
            guard let sdp = content.sdp else { return self.asked(id, at: now) }
            return self.take(offer: sdp, isFresh: content.kind == .restart, from: id, timestamp, at: now)
        case .answer:
            guard let sdp = content.sdp, peer.remote.map({ timestamp > $0.timestamp }) ?? true else { return [] }
            return self.take(answer: sdp, from: id, timestamp, at: now)
        case .candidate:
            guard let candidate = content.candidate else { return [] }
            return self.take(candidate, from: id, timestamp)
        case .bye:
            guard peer.link > 0 else { return [] }
            self.doubt(at: now)
            let actions = self.drop(id)
            self.peers[id]?.phase = .closed
            return actions
        }
    }

    /// The other one has no connection and wants an offer.
    private mutating func asked(_ id: PrincipalID, at now: Instant) -> [Action] {
        guard let peer = self.peers[id], self.offers(to: peer) else { return [] }
        switch peer.phase {
        // On its way.
        case .offering: return []
        case .offered where peer.sentAt.map({ now - $0 < Self.again.first }) ?? false: return []
        case .offered, .idle, .awaiting, .answering, .settling, .connected, .closed: return self.offer(id, at: now)
        }
    }

    private mutating func take(
        offer sdp: String, isFresh: Bool, from id: PrincipalID, _ timestamp: Timestamp, at now: Instant
    ) -> [Action] {
        guard let peer = self.peers[id] else { return [] }
        if let known = peer.remote, timestamp <= known.timestamp { return [] }
        if peer.remote?.sdp == sdp, peer.link > 0 {
            // Sent again, because our answer got lost or is on its way.
            self.peers[id]?.remote?.timestamp = timestamp
            guard peer.phase == .settling || peer.phase == .connected else { return [] }
            return self.sendAgain(id, at: now)
        }
        if peer.phase == .connected, !isFresh {
            // Renegotiation, which either may begin. The lower seat insists on its own offer.
            guard !(peer.isRenegotiating && self.offers(to: peer)) else { return [] }
            self.peers[id]?.remote = (timestamp, sdp)
            self.peers[id]?.isRenegotiating = false
            return [.link(id, number: peer.link, .accept(sdp, isFresh: false))]
        }
        // First offers come from the lower seat alone.
        guard !self.offers(to: peer) else { return [] }
        var actions = self.drop(id)
        self.links += 1
        let early = peer.early.filter { $0.timestamp >= timestamp }
        self.peers[id]?.begin(.answering, link: self.links, at: now)
        self.peers[id]?.remote = (timestamp, sdp)
        actions.append(.link(id, number: self.links, .accept(sdp, isFresh: true)))
        return actions + early.map { .link(id, number: self.links, .candidate($0.candidate)) }
    }

    private mutating func take(
        answer sdp: String, from id: PrincipalID, _ timestamp: Timestamp, at now: Instant
    ) -> [Action] {
        guard let peer = self.peers[id], peer.link > 0, peer.remote?.sdp != sdp else { return [] }
        if peer.phase == .connected, peer.isRenegotiating {
            self.peers[id]?.remote = (timestamp, sdp)
            self.peers[id]?.isRenegotiating = false
            return [.link(id, number: peer.link, .answer(sdp))]
        }
        guard peer.phase == .offered else { return [] }
        self.peers[id]?.remote = (timestamp, sdp)
        self.peers[id]?.phase = .settling
        self.peers[id]?.since = now
        self.peers[id]?.early = []
        let early = peer.early.filter { $0.timestamp >= timestamp }
        return [.link(id, number: peer.link, .answer(sdp))]
            + early.map { .link(id, number: peer.link, .candidate($0.candidate)) }
    }

    private mutating func take(_ candidate: RoomCandidate, from id: PrincipalID, _ timestamp: Timestamp) -> [Action] {
        guard let peer = self.peers[id] else { return [] }
        guard peer.phase.hasRemote, let remote = peer.remote else {
            self.peers[id]?.keep(candidate, timestamp)
            return []
        }
        // It belongs to a description of before.
        guard timestamp >= remote.timestamp else { return [] }
        return [.link(id, number: peer.link, .candidate(candidate))]
    }

    /// The last description and all candidates, as they were.
    private mutating func sendAgain(_ id: PrincipalID, at now: Instant) -> [Action] {
        guard let peer = self.peers[id], let local = peer.local else { return [] }
        self.peers[id]?.sentAt = now
        self.peers[id]?.sendings += 1
        return [.signal(local.kind, to: id, local)]
            + peer.candidates.map { .signal(.candidate, to: id, SignalContent($0)) }
    }

    /// The server refused a signal.
    package mutating func signalRefused(_ code: ErrorCode?, at now: Instant) {
        switch code {
        case .notFound, .forbidden: self.doubt(at: now)
        // The pair is looked after later.
        default: break
        }
    }

    /// The server says that the seat has gone, and nobody has said why: it is asked.
    package mutating func seatIsGone(at now: Instant) { self.doubt(at: now) }

    // MARK: The WebRTC stack

    /// Something about connection `number` to a peer. What concerns a connection of before changes nothing.
    package mutating func heard(
        _ report: LinkReport, of id: PrincipalID, number: Int, at now: Instant
    ) -> [Action] {
        guard let peer = self.peers[id], peer.link == number, number > 0 else { return [] }
        switch report {
        case .offer(let sdp):
            let isFirst = peer.phase == .offering
            guard isFirst || peer.phase == .connected else { return [] }
            let kind: RoomSignalKind = isFirst && (self.isReturning || peer.hadLink) ? .restart : .offer
            self.peers[id]?.local = SignalContent(kind, sdp: sdp)
            self.peers[id]?.candidates = []
            if isFirst { self.peers[id]?.phase = .offered } else { self.peers[id]?.isRenegotiating = true }
            self.peers[id]?.since = now
            return self.isReachable(id) ? self.sendAgain(id, at: now) : []
        case .answer(let sdp):
            guard peer.phase == .answering || peer.phase == .connected else { return [] }
            self.peers[id]?.local = SignalContent(.answer, sdp: sdp)
            self.peers[id]?.candidates = []
            if peer.phase == .answering { self.peers[id]?.phase = .settling }
            self.peers[id]?.since = now
            return self.isReachable(id) ? self.sendAgain(id, at: now) : []
        case .candidate(let candidate):
            guard peer.candidates.count < RoomLimits.candidatesKeptMax else { return [] }
            self.peers[id]?.candidates.append(candidate)
            guard peer.local != nil, self.isReachable(id) else { return [] }
            return [.signal(.candidate, to: id, SignalContent(candidate))]
        case .connected:
            guard peer.phase != .connected else { return [] }
            self.peers[id]?.phase = .connected
            self.peers[id]?.tries = 0
            return [.changed]
        case .failed:
            // Perhaps it has gone, and nobody has told of it.
            self.doubt(at: now)
            let actions = self.drop(id)
            self.peers[id]?.phase = .awaiting
            self.peers[id]?.since = now
            return actions + (peer.phase == .connected ? [.changed] : [])
        }
    }

    private func isReachable(_ id: PrincipalID) -> Bool {
        self.state == .joined && self.peers[id]?.participant.isConnected == true
    }

    // MARK: Time

    /// When `timerFired` has something to do next.
    package var nextWake: Instant? {
        let links = self.state == .joined ? self.peers.values.compactMap { self.deadline(of: $0) } : []
        return (links + [self.joinsAt].compactMap { $0 }).min()
    }

    private func deadline(of peer: Peer) -> Instant? {
        guard peer.participant.isConnected, let since = peer.since else { return nil }
        switch peer.phase {
        case .idle, .connected, .closed: return nil
        case .offered, .awaiting: return since + Self.again.pause(after: peer.tries + 1)
        case .offering, .answering, .settling: return since + Self.stackTime
        }
    }

    package mutating func timerFired(at now: Instant) -> [Action] {
        var actions: [Action] = []
        if let time = self.joinsAt, time <= now {
            self.joinsAt = nil
            actions.append(.join)
        }
        guard self.state == .joined else { return actions }
        for id in self.peers.keys.sorted(by: self.bySeat) {
            guard let peer = self.peers[id], let deadline = self.deadline(of: peer), deadline <= now else { continue }
            actions += self.overdue(id, peer, at: now)
        }
        return actions
    }

    private mutating func overdue(_ id: PrincipalID, _ peer: Peer, at now: Instant) -> [Action] {
        self.peers[id]?.tries += 1
        self.peers[id]?.since = now
        if peer.phase == .offered, peer.sendings < Self.sendingsMax {
            return self.sendAgain(id, at: now)
        }
        guard !self.offers(to: peer) else { return self.offer(id, at: now) }
        let actions = peer.phase == .awaiting ? [] : self.drop(id)
        self.peers[id]?.phase = .awaiting
        self.peers[id]?.since = now
        return actions + [.signal(.restart, to: id, SignalContent(.restart))]
    }
}

// MARK: One peer

extension MeshMachine {
    private enum Phase {
        /// Nothing was tried.
        case idle
        /// The stack makes an offer.
        case offering
        /// The offer is out.
        case offered
        /// The other one is to offer.
        case awaiting
        /// The stack makes an answer.
        case answering
        /// Both descriptions are here.
        case settling
        case connected
        /// The other one has said `bye`.
        case closed

        /// Whether the stack has the other one's description.
        var hasRemote: Bool {
            switch self {
            case .answering, .settling, .connected: true
            case .idle, .offering, .offered, .awaiting, .closed: false
            }
        }
    }

    private struct Peer {
        var participant: RoomParticipant
        /// Number of the connection; 0 without one.
        var link = 0
        /// There was a connection before this one.
        var hadLink = false
        var phase = Phase.idle
        /// From when on its phase is waited for.
        var since: Instant?
        /// When our description was last sent, and how often.
        var sentAt: Instant?
        var sendings = 0
        /// What was tried in vain since it was last connected.
        var tries = 0
        /// What we have said of the connection.
        var local: SignalContent?
        var candidates: [RoomCandidate] = []
        /// An offer of ours for a connection that is up is not answered.
        var isRenegotiating = false
        /// The newest description of the other one.
        var remote: (timestamp: Timestamp, sdp: String)?
        /// Candidates that came before the description they belong to.
        var early: [(timestamp: Timestamp, candidate: RoomCandidate)] = []

        init(_ participant: RoomParticipant) { self.participant = participant }

        mutating func begin(_ phase: Phase, link: Int, at now: Instant?) {
            self.hadLink = self.hadLink || self.link > 0
            (self.phase, self.link, self.since) = (phase, link, now)
            (self.sentAt, self.sendings) = (nil, 0)
            (self.local, self.candidates, self.isRenegotiating) = (nil, [], false)
            self.early = []
            self.remote?.sdp = ""
        }

        mutating func keep(_ candidate: RoomCandidate, _ timestamp: Timestamp) {
            self.early.removeFirst(max(0, self.early.count + 1 - RoomLimits.candidatesKeptMax))
            self.early.append((timestamp, candidate))
        }
    }
}

/// What the WebRTC stack is to do about one connection.
package enum LinkOrder: Equatable, Sendable {
    /// Make a connection with the data channel `chat`, ordered and reliable, and an offer for it.
    case offer
    /// Take an offer and answer it.
    /// - Parameter isFresh: for a new connection; else it is about the one that is there.
    case accept(String, isFresh: Bool)
    case answer(String)
    case candidate(RoomCandidate)
    case drop
}

/// What the WebRTC stack says of one connection.
package enum LinkReport: Equatable, Sendable {
    /// An offer of ours. For a connection that is up: something about it is to change.
    case offer(String)
    case answer(String)
    case candidate(RoomCandidate)
    case connected
    /// It is broken, or was closed by the other side.
    case failed
}
