import Contract

/// Our peripheral role: advertising, and a chat with one central at most.
///
/// A peripheral cannot end a connection. It asks the central to leave by a value of `NearbyService.hangUp`.
package struct PeripheralMachine: Sendable {
    package typealias Instant = ContinuousClock.Instant

    private enum State {
        case off
        /// Centrals can find us. Next: `chatting`, when one subscribes to `NearbyService.toCentral`.
        case advertising
        case chatting(NearbyPeer)
        /// The central was asked to leave. Next: `advertising`, when it has left or the time is over.
        case closing(NearbyPeer, NearbyEnd, until: Instant)
    }

    package enum Action: Equatable, Sendable {
        case advertise
        case stopAdvertising
        /// An indication of `NearbyService.hangUp`. `refused` follows if the radio's queue is full.
        case askToGo(NearbyPeer)
        /// Values may be sent both ways.
        case opened(NearbyPeer, isOurs: Bool)
        case ended(NearbyPeer, NearbyEnd)
    }

    private var state = State.off
    private var isWanted = false
    private var isRadioOn = false
    /// The subscriptions of each central.
    private var subscriptions: [NearbyPeer: Set<UUIDText>] = [:]
    /// Centrals to ask to leave once the queue has room.
    private var unasked: Set<NearbyPeer> = []

    package init() {}

    /// The central whose values are accepted.
    package var guest: NearbyPeer? {
        switch self.state {
        case .off, .advertising: nil
        case .chatting(let peer), .closing(let peer, _, _): peer
        }
    }

    package var isAdvertising: Bool {
        if case .advertising = self.state { true } else { false }
    }

    package var nextWake: Instant? {
        if case .closing(_, _, let until) = self.state { until } else { nil }
    }

    // MARK: Ours

    package mutating func start() -> [Action] {
        self.isWanted = true
        guard self.isRadioOn, case .off = self.state else { return [] }
        self.state = .advertising
        return [.advertise]
    }

    /// Stops advertising, and asks a connected central to leave.
    package mutating func stop() -> [Action] {
        self.isWanted = false
        defer { self.state = .off }
        switch self.state {
        case .off: return []
        case .advertising: return [.stopAdvertising]
        case .chatting(let peer): return [.askToGo(peer), .ended(peer, .closed)]
        case .closing(let peer, let end, _): return [.ended(peer, end)]
        }
    }

    package mutating func hangUp(_ end: NearbyEnd = .closed, at now: Instant) -> [Action] {
        guard case .chatting(let peer) = self.state else { return [] }
        self.state = .closing(peer, end, until: now + NearbyLimits.leftWithin)
        return [.askToGo(peer)]
    }

    // MARK: Theirs

    package mutating func heard(_ news: RadioEvent.CentralNews, of peer: NearbyPeer) -> [Action] {
        switch news {
        case .subscribed(let characteristic): self.subscribed(peer, characteristic)
        case .unsubscribed(let characteristic): self.unsubscribed(peer, characteristic)
        // A central that was asked to leave and still writes is asked again.
        case .value:
            peer != self.guest && self.subscriptions[peer]?.contains(NearbyService.toCentral) == true
                ? [.askToGo(peer)] : []
        case .indicated: []
        }
    }

    private mutating func subscribed(_ peer: NearbyPeer, _ characteristic: UUIDText) -> [Action] {
        if self.subscriptions[peer] == nil, self.subscriptions.count >= NearbyLimits.centralsMax,
            let stranger = self.subscriptions.keys.first(where: { $0 != self.guest })
        {
            self.subscriptions[stranger] = nil
            self.unasked.remove(stranger)
        }
        self.subscriptions[peer, default: []].insert(characteristic)
        let isChat = characteristic == NearbyService.toCentral
        guard isChat || characteristic == NearbyService.hangUp else { return [] }
        switch self.state {
        case .advertising where isChat:
            self.state = .chatting(peer)
            return [.stopAdvertising, .opened(peer, isOurs: self.isOurs(peer))]
        case .advertising where self.subscriptions[peer]?.contains(NearbyService.toCentral) != true: return []
        case .chatting(peer): return []
        case .closing(peer, _, _) where isChat: return []
        // Only one chat at a time, and none with a central that we have given up.
        case .off, .advertising, .chatting, .closing: return [.askToGo(peer)]
        }
    }

    private mutating func unsubscribed(_ peer: NearbyPeer, _ characteristic: UUIDText) -> [Action] {
        self.subscriptions[peer]?.remove(characteristic)
        if self.subscriptions[peer]?.isEmpty == true {
            self.subscriptions[peer] = nil
            self.unasked.remove(peer)
        }
        guard characteristic == NearbyService.toCentral else { return [] }
        switch self.state {
        case .chatting(peer): return self.end(peer, .hungUp)
        case .closing(peer, let end, _): return self.end(peer, end)
        case .off, .advertising, .chatting, .closing: return []
        }
    }

    private func isOurs(_ peer: NearbyPeer) -> Bool {
        self.subscriptions[peer]?.contains(NearbyService.fragments) == true
    }

    // MARK: The radio

    /// The radio's queue had no room for the request to this central to leave.
    package mutating func refused(_ peer: NearbyPeer) {
        if self.subscriptions[peer] != nil { self.unasked.insert(peer) }
    }

    package mutating func readyToIndicate() -> [Action] {
        defer { self.unasked = [] }
        return self.unasked.map { .askToGo($0) }
    }

    package mutating func radio(isOn: Bool) -> [Action] {
        guard isOn != self.isRadioOn else { return [] }
        self.isRadioOn = isOn
        guard !isOn else { return self.isWanted ? self.start() : [] }
        self.subscriptions = [:]
        self.unasked = []
        defer { self.state = .off }
        switch self.state {
        case .off, .advertising: return []
        case .chatting(let peer): return [.ended(peer, .lost)]
        case .closing(let peer, let end, _): return [.ended(peer, end)]
        }
    }

    package mutating func tick(at now: Instant) -> [Action] {
        guard case .closing(let peer, let end, let until) = self.state, until <= now else { return [] }
        return self.end(peer, end)
    }

    private mutating func end(_ peer: NearbyPeer, _ end: NearbyEnd) -> [Action] {
        self.state = .advertising
        return [.ended(peer, end), .advertise]
    }
}
