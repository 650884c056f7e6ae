import Bus
import Contract
import Telemetry

/// Connections of guests (contract §14.3).
extension Gateway {
    /// Binds the connection to the guest, and ends another connection of the guest here; or the other stays, and this one
    /// ends. A connection at another gateway hears of it (`claim`).
    /// - Parameters:
    ///   - shownAt: when it showed the token, on the gateway's clock; `nil` for now.
    ///   - welcome: tells the client that its proof succeeded.
    func bind(_ connection: Connection, to guest: Guest, shownAt: Int64? = nil, welcome: () -> Void = {}) {
        let shownAt = shownAt ?? self.now
        if let other = self.boundGuests[guest.id], other !== connection {
            guard !other.machine.staysLive(against: guest, shownAt: shownAt) else {
                welcome()
                return self.endGuest(of: connection)
            }
            self.endGuest(of: other)
        }
        connection.machine.bind(to: guest, shownAt: shownAt)
        self.boundGuests[guest.id] = connection
        self.metrics.guests.set(self.boundGuests.count)
        self.claim(guest, for: connection)
        welcome()
        // The news of a newer proof may have come while this one was answered.
        self.check([connection])
    }

    /// Another proof or connection has taken over, or an operator has banned the guest.
    func endGuest(of connection: Connection, why: ClusterNotice.EndReason = .replaced) {
        switch why {
        case .replaced:
            self.refuse(
                connection, Refusal(.authFailed, "the guest has another connection or proof now"), requestID: nil)
            self.close(connection, .sessionReplaced)
        case .banned:
            self.refuse(connection, .bannedGuest, requestID: nil)
            self.close(connection, .banned)
        }
    }

    /// The connection is no longer its guest's live one.
    func unbind(_ connection: Connection, from guest: Guest) {
        guard self.boundGuests[guest.id] === connection else { return }
        self.boundGuests[guest.id] = nil
        self.metrics.guests.set(self.boundGuests.count)
        self.rates.remember(token: guest.tokenHash)
        self.bus.deleteWithoutWaiting(
            Keyspace.presence(guest.id), ifStill: self.presence(of: guest, on: connection))
    }

    func guestEnded(_ id: GuestID, before epoch: Epoch, _ why: ClusterNotice.EndReason) {
        guard let connection = self.boundGuests[id], connection.machine.guestEnded(before: epoch) else { return }
        self.endGuest(of: connection, why: why)
    }

    // MARK: Presence

    /// Says in Redis where the guest is. Whichever connection stood there before, at another gateway, is to hear of it: auth
    /// tells it, because gateways speak to each other of content alone.
    private func claim(_ guest: Guest, for connection: Connection) {
        let id = connection.id
        self.bus.exchangeWithoutWaiting(
            Keyspace.presence(guest.id), for: self.presence(of: guest, on: connection), for: GatewayLimits.presenceTTL
        ) { found in
            // Without an answer the next check finds what stands there. The bus calls back on the loop.
            guard case .success(let bytes?) = found, let other = try? Presence(decoding: bytes) else { return }
            self.assumeIsolated { $0.claimed(guest, for: id, from: other) }
        }
    }

    private func claimed(_ guest: Guest, for id: ConnectionID, from other: Presence) {
        guard other.node != self.node, let connection = self.connections[id], connection.isOpen,
            let age = connection.machine.guestAge(at: self.now)
        else { return }
        self.requests.tell(
            .auth, .guestMoved(GuestMove(from: other, epoch: guest.epoch, age: age)), on: connection, self)
    }

    /// A connection at another gateway has said that the guest is there. This one says so again if it is newer; else the one
    /// stays that Redis names now. So of two that speak at once exactly one stays.
    func guestMoved(from id: ConnectionID, epoch: Epoch, age: Int64) {
        guard let connection = self.connections[id], connection.isOpen, let guest = connection.machine.guest else {
            return
        }
        // The number came from another process: it may be anything.
        guard !connection.machine.staysLive(against: epoch, shownAt: self.now - max(0, age)) else {
            return self.claim(guest, for: connection)
        }
        // Bare: it lasts no longer than one answer of the bus, which has a limit of its own.
        Task {
            // A bus that is away is asked again at the next check.
            guard let presence = try? await self.bus.get([Keyspace.presence(guest.id)]).first else { return }
            self.found(presence: presence, of: guest.id, on: id, isFinal: true)
        }
    }

    private func presence(of guest: Guest, on connection: Connection) -> [UInt8] {
        Presence(node: self.node, connection: connection.id, epoch: guest.epoch).encoded()
    }

    // MARK: Checks

    /// Looks whether the tokens of these guests still live, and whether Redis says that the guests are here: the Notice that
    /// one has ended or moved may be lost, or have come before the connection was bound. The gateway asks auth about
    /// tokens that the cache does not know.
    func check(_ connections: [Connection]) {
        let asked = connections.compactMap { connection in connection.machine.guest.map { (connection.id, $0) } }
        guard !asked.isEmpty else { return }
        // Bare: each part lasts no longer than one answer of the bus, which has a limit of its own.
        Task {
            for start in stride(from: 0, to: asked.count, by: ClusterLimits.presencesPerReadMax / 2) {
                let part = asked[start..<min(start + ClusterLimits.presencesPerReadMax / 2, asked.count)]
                // A bus that is away is asked again at the next look.
                guard
                    let found = try? await self.bus.get(
                        part.map { Keyspace.guest($1.tokenHash) } + part.map { Keyspace.presence($1.id) })
                else { return }
                for ((id, guest), (cached, presence)) in zip(part, zip(found, found[part.count...])) {
                    self.found(cached, of: guest.tokenHash, on: id)
                    self.found(presence: presence, of: guest.id, on: id)
                }
            }
        }
    }

    private func found(_ cached: [UInt8]?, of hash: Bytes32, on id: ConnectionID) {
        if let cached, let guest = try? Guest(decoding: cached), guest.tokenHash == hash {
            self.checked(guest, hash, on: id)
        } else if !self.requests.isFull {
            self.ask(.guestCheck(tokenHash: hash), .guest(tokenHash: hash), for: id, from: nil)
        }
    }

    /// - Parameters:
    ///   - presence: what Redis says of the guest; `nil` for nothing.
    ///   - isFinal: another connection is known to be the newer one, or as new. Otherwise it may be gone.
    private func found(presence: [UInt8]?, of id: GuestID, on connectionID: ConnectionID, isFinal: Bool = false) {
        guard let connection = self.boundGuests[id], connection.id == connectionID,
            let guest = connection.machine.guest,
            presence != self.presence(of: guest, on: connection)
        else { return }
        if isFinal, presence != nil { return self.endGuest(of: connection) }
        self.claim(guest, for: connection)
    }

    /// - Parameter guest: `nil` if the token (its hash) is nobody's by now.
    func checked(_ guest: Guest?, _ hash: Bytes32, on id: ConnectionID) {
        guard let connection = self.connections[id], connection.isOpen,
            let why = connection.machine.guestFound(guest, of: hash)
        else { return }
        self.endGuest(of: connection, why: why)
    }
}
