package import Contract

/// One connection that we make as a central, from the request to its end.
package struct CentralMachine: Sendable {
    package typealias Instant = ContinuousClock.Instant

    private enum State {
        case idle
        /// The radio connects to the phone. Next: `discovering`.
        case connecting(until: Instant)
        /// The radio queries the phone's characteristics. Next: `subscribing`.
        case discovering(until: Instant)
        /// The first subscription of `rest` is requested, one after the other. Next: `chatting`.
        case subscribing(rest: [UUIDText], isOurs: Bool, until: Instant)
        case chatting
        /// The radio is disconnecting. Next: `idle`, when the radio confirms it or the time is over.
        case closing(NearbyEnd, until: Instant)
    }

    package enum Action: Equatable, Sendable {
        case connect
        case disconnect
        case discover
        case subscribe(UUIDText)
        /// Values may be sent both ways.
        case opened(isOurs: Bool)
        case ended(NearbyEnd)
    }

    private var state = State.idle

    package init() {}

    package var isIdle: Bool {
        if case .idle = self.state { true } else { false }
    }

    /// Whether this attempt may still lead to a chat.
    package var isUnderWay: Bool {
        switch self.state {
        case .connecting, .discovering, .subscribing: true
        case .idle, .chatting, .closing: false
        }
    }

    package var nextWake: Instant? {
        switch self.state {
        case .idle, .chatting: nil
        case .connecting(let until), .discovering(let until), .subscribing(_, _, let until), .closing(_, let until):
            until
        }
    }

    // MARK: Ours

    package mutating func connect(at now: Instant) -> [Action] {
        guard case .idle = self.state else { return [] }
        self.state = .connecting(until: now + NearbyLimits.connectedWithin)
        return [.connect]
    }

    package mutating func hangUp(_ end: NearbyEnd = .closed, at now: Instant) -> [Action] {
        switch self.state {
        case .idle, .closing: return []
        case .connecting, .discovering, .subscribing, .chatting: return self.close(end, at: now)
        }
    }

    // MARK: Theirs

    package mutating func heard(_ news: RadioEvent.PeripheralNews, at now: Instant) -> [Action] {
        switch (news, self.state) {
        case (.connected, .connecting):
            self.state = .discovering(until: now + NearbyLimits.subscribedWithin)
            return [.discover]
        case (.characteristics(let all), .discovering(let until)):
            guard all.contains(NearbyService.toPeripheral), all.contains(NearbyService.toCentral) else {
                return self.close(.refused, at: now)
            }
            let wanted = Self.subscriptions.filter { all.contains($0) }
            let isOurs = all.contains(NearbyService.fragments)
            self.state = .subscribing(rest: wanted, isOurs: isOurs, until: until)
            return [.subscribe(wanted[0])]
        case (.subscribed(let characteristic, let isDone), .subscribing(var rest, let isOurs, let until)):
            guard rest.first == characteristic else { return [] }
            guard isDone else { return self.close(.refused, at: now) }
            rest.removeFirst()
            guard let next = rest.first else {
                self.state = .chatting
                return [.opened(isOurs: isOurs)]
            }
            self.state = .subscribing(rest: rest, isOurs: isOurs, until: until)
            return [.subscribe(next)]
        case (.value(NearbyService.hangUp, _), .subscribing), (.value(NearbyService.hangUp, _), .chatting):
            return self.close(.hungUp, at: now)
        case (.disconnected, .closing(let end, _)):
            return self.end(end)
        case (.disconnected, .connecting), (.disconnected, .discovering), (.disconnected, .subscribing),
            (.disconnected, .chatting):
            return self.end(.lost)
        default: return []
        }
    }

    /// The radio is off, and has no connections any more.
    package mutating func radioOff() -> [Action] {
        switch self.state {
        case .idle: []
        case .closing(let end, _): self.end(end)
        case .connecting, .discovering, .subscribing, .chatting: self.end(.lost)
        }
    }

    package mutating func tick(at now: Instant) -> [Action] {
        guard let until = self.nextWake, until <= now else { return [] }
        if case .closing(let end, _) = self.state { return self.end(end) }
        return self.close(.timeout, at: now)
    }

    // MARK: Parts

    /// The subscription of `toCentral` opens the chat at the peripheral. The earlier ones show whether we are a Whisper
    /// phone.
    private static let subscriptions = [NearbyService.fragments, NearbyService.hangUp, NearbyService.toCentral]

    private mutating func close(_ end: NearbyEnd, at now: Instant) -> [Action] {
        self.state = .closing(end, until: now + NearbyLimits.disconnectedWithin)
        return [.disconnect]
    }

    private mutating func end(_ end: NearbyEnd) -> [Action] {
        self.state = .idle
        return [.ended(end)]
    }
}
