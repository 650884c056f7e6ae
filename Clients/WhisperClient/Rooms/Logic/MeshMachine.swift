package import Contract

/// Keeps one participant's connections to all others of a room: a full mesh (contract §15.2, §15.4). Holds no socket,
/// clock, key or WebRTC stack: it returns actions for them, and receives their results.
///
/// In each pair the lower seat offers. Signals may be lost, repeated or late. An unanswered offer is first sent again
/// unchanged, which does no harm, and later replaced. So any pair that can talk is connected in the end.
package struct MeshMachine {
    package typealias Instant = ContinuousClock.Instant

    package enum State: Equatable, Sendable {
        /// No connection to the server. Connections to peers continue.
        case away
        /// `room_join` was sent, or is about to be sent again.
        case joining
        case joined
        /// Terminal.
        case over(End)
    }

    package enum End: Equatable, Sendable {
        case left
        case closed
        /// The host has removed us.
        case removed
        /// The room does not exist any more, or we have no seat in it.
        case notFound
        /// The server rejects this client's frames.
        case broken
    }

    package enum Action: Equatable, Sendable {
        /// `room_join` with the room's id.
        case join
        /// `room_signal`.
        case signal(RoomSignalKind, to: PrincipalID, SignalContent)
        /// An order for the WebRTC stack.
        case link(PrincipalID, number: Int, LinkOrder)
        /// The room or its connections have changed.
        case changed
        case over(End)
    }

    /// Pauses between attempts on a missing connection: its offer is sent again, then replaced.
    private static let again = Backoff(first: .seconds(5), longest: .seconds(60))
    /// How often an offer is sent unchanged before it is replaced.
    private static let sendingsMax = 3
    /// The time that a WebRTC stack gets to describe a connection, or to establish it.
    static let stackTime = Duration.seconds(20)
    /// How long after a doubt the room's state is fetched.
    static let doubtTime = Duration.seconds(2)
    private static let rejoin = Backoff(first: .milliseconds(500), longest: .seconds(15))

    package let own: PrincipalID
    package let room: UUIDText
    package private(set) var state = State.away
    /// The server's latest state of the room. The newest revision counts.
    package private(set) var shown: RoomState?
    private var peers: [PrincipalID: Peer] = [:]
    /// This identity or guest had the seat before: peers may still have connections to its former machine.
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

    /// Whether content can be exchanged with this participant now.
    package func isLinked(to peer: PrincipalID) -> Bool { self.peers[peer]?.phase == .connected }

    /// The number of the connection to a participant; 0 without one.
    package func link(to peer: PrincipalID) -> Int { self.peers[peer]?.link ?? 0 }

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

    /// `room_joined` was received.
    package mutating func joined(_ room: RoomState, at now: Instant) -> [Action] {
        if case .over = self.state { return [] }
        let wasJoined = self.state == .joined
        self.state = .joined
        (self.failures, self.joinsAt) = (0, nil)
        var actions = self.learn(room)
        for id in self.peers.keys.sorted(by: self.bySeat) {
            // Earlier signals may be lost with the connection to the server. A peer that sent `bye` and still has a
            // seat has returned, or has not left.
            let isNew = self.peers[id]?.phase == .idle || self.peers[id]?.phase == .closed
            if !wasJoined || isNew { actions += self.begin(id, at: now) }
        }
        return actions
    }

    /// `room_event` was received.
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
        // The event has overtaken the answer to `room_join`, which then is older.
        if self.state == .joining { return self.learn(room) }
        guard self.state == .joined else { return [] }
        let before = self.peers.filter(\.value.participant.isConnected).keys
        var actions = self.learn(room)
        for id in self.peers.keys.sorted(by: self.bySeat) {
            // `back` counts even if the peer was never seen away. So does a new seat.
            let isBack = event == .back && id == participant
            if !before.contains(id) || isBack || self.peers[id]?.phase == .idle { actions += self.begin(id, at: now) }
        }
        return actions
    }

    /// Takes over the state if it is the newest.
    private mutating func learn(_ room: RoomState) -> [Action] {
        guard room.revision >= self.shown?.revision ?? 0 else { return [] }
        let isNews = room != self.shown
        self.shown = room
        var actions: [Action] = []
        let others = room.participants.filter { $0.participant != self.own }
        for id in self.peers.keys.sorted(by: self.bySeat) {
            let seat = others.first { $0.participant == id }?.seat
            // A participant that joins again has a new seat, and none of its earlier connections.
            guard seat != self.peers[id]?.participant.seat else { continue }
            actions += self.drop(id)
            self.peers[id] = nil
        }
        for other in others { self.peers[other.participant, default: Peer(other)].participant = other }
        return actions + (isNews ? [.changed] : [])
    }

    /// Sends `bye` to connected peers. The caller may send `room_leave` after these.
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

    /// The server's last state may be outdated: fetches it again.
    private mutating func doubt(at now: Instant) {
        guard self.state == .joined else { return }
        self.joinsAt = min(self.joinsAt ?? now + Self.doubtTime, now + Self.doubtTime)
    }

    // MARK: Who offers

    private func bySeat(_ one: PrincipalID, _ other: PrincipalID) -> Bool {
        self.peers[one]?.participant.seat ?? 0 < self.peers[other]?.participant.seat ?? 0
    }

    /// In each pair the lower seat offers (contract §15.2).
    private func offers(to peer: Peer) -> Bool { (self.seat ?? Int.max) < peer.participant.seat }

    /// Both participants are connected to the server now, perhaps again.
    private mutating func begin(_ id: PrincipalID, at now: Instant) -> [Action] {
        guard self.state == .joined, let peer = self.peers[id], peer.participant.isConnected else { return [] }
        switch peer.phase {
        case .connected: return []
        case .offered where peer.sentAt.map({ now - $0 < RoomLimits.signalsKeptFor }) ?? false:
            // The server has kept the offer, and delivers it to the peer that is back.
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

    /// A connection that we offer begins with the stack's offer.
    private mutating func offer(_ id: PrincipalID, at now: Instant) -> [Action] {
        let actions = self.drop(id)
        self.links += 1
        self.peers[id]?.begin(.offering, link: self.links, at: now)
        return actions + [.link(id, number: self.links, .offer)]
    }

    /// The peer offers. If we are returning, it may have a connection to our former machine, so we ask for a new offer.
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

    /// A signal was received that opens, and that its sender has signed.
    /// - Parameters:
    ///   - timestamp: the sender's.
    ///   - serverTime: now, by the server's clock.
    package mutating func received(
        _ content: SignalContent, from id: PrincipalID, _ timestamp: Timestamp, serverTime: Timestamp, at now: Instant
    ) -> [Action] {
        guard self.state == .joined else { return [] }
        // The server's clock was wrong when that signal was signed. It must not shut out signals signed by the right
        // clock.
        if self.peers[id]?.remote?.timestamp.isAhead(of: serverTime) == true {
            self.peers[id]?.remote?.timestamp = Timestamp(milliseconds: 0)
        }
        guard let peer = self.peers[id] else {
            // The sender is unknown: its arrival was not announced to us.
            self.doubt(at: now)
            return []
        }
        // The peer is connected, and its return was not announced to us.
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

    /// The peer has no connection and requests an offer.
    private mutating func asked(_ id: PrincipalID, at now: Instant) -> [Action] {
        guard let peer = self.peers[id], self.offers(to: peer) else { return [] }
        switch peer.phase {
        // The offer is under way.
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
            // A repeated offer: our answer was lost or is under way.
            self.peers[id]?.remote?.timestamp = timestamp
            guard peer.phase == .settling || peer.phase == .connected else { return [] }
            return self.sendAgain(id, at: now)
        }
        if peer.phase == .connected, !isFresh {
            // Renegotiation, which either side may begin. The lower seat insists on its own offer.
            guard !(peer.isRenegotiating && self.offers(to: peer)) else { return [] }
            self.peers[id]?.remote = (timestamp, sdp)
            self.peers[id]?.isRenegotiating = false
            return [.link(id, number: peer.link, .accept(sdp, isFresh: false))]
        }
        // Only the lower seat sends first offers.
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
        // An older candidate belongs to an earlier description.
        guard timestamp >= remote.timestamp else { return [] }
        return [.link(id, number: peer.link, .candidate(candidate))]
    }

    /// Sends the last description and all candidates again, unchanged.
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
        // The deadline of the pair retries later.
        default: break
        }
    }

    /// The server says that our seat is gone, without a reason: fetches the state.
    package mutating func seatIsGone(at now: Instant) { self.doubt(at: now) }

    // MARK: The WebRTC stack

    /// A report on connection `number` to a peer. Reports on earlier connections change nothing.
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
            // The peer may have left without an announcement to us.
            self.doubt(at: now)
            let actions = self.drop(id)
            self.peers[id]?.phase = .awaiting
            self.peers[id]?.since = now
            return actions + (peer.phase == .connected ? [.changed] : [])
        case .low: return []
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
        /// The offer was sent.
        case offered
        /// The peer must offer.
        case awaiting
        /// The stack makes an answer.
        case answering
        /// Both descriptions are known.
        case settling
        case connected
        /// The peer has sent `bye`.
        case closed

        /// Whether the stack has the peer's description.
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
        /// The start of the present wait in this phase.
        var since: Instant?
        /// When our description was last sent, and how often.
        var sentAt: Instant?
        var sendings = 0
        /// Failed attempts since the last connection.
        var tries = 0
        /// Our latest description of the connection.
        var local: SignalContent?
        var candidates: [RoomCandidate] = []
        /// Our offer to change an established connection is not answered yet.
        var isRenegotiating = false
        /// The peer's newest description.
        var remote: (timestamp: Timestamp, sdp: String)?
        /// Candidates that arrived before their description.
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

/// An order to the WebRTC stack about one connection.
package enum LinkOrder: Equatable, Sendable {
    /// Make a connection with the data channels `chat` and `talk`, ordered and reliable, and an offer for it.
    case offer
    /// Take an offer and answer it.
    /// - Parameter isFresh: for a new connection; otherwise for the existing one.
    case accept(String, isFresh: Bool)
    case answer(String)
    case candidate(RoomCandidate)
    case drop
}

/// A report of the WebRTC stack on one connection.
package enum LinkReport: Equatable, Sendable {
    /// Our offer: for an established connection, a change of it.
    case offer(String)
    case answer(String)
    case candidate(RoomCandidate)
    case connected
    /// The connection is broken, or the peer has closed it.
    case failed
    /// All that was to be written is written, and little of it waits in the stack.
    case low
}
