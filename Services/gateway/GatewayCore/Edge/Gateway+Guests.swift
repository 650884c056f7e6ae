import Bus
import Contract
import Telemetry

/// Connections of guests (contract §14.3).
extension Gateway {
    /// Binds the connection to the guest, and ends another connection of the guest here; or the other stays, and this one
    /// ends. Auth tells the other gateways of a proof.
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
        self.showPresence(of: guest, on: connection)
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
        self.knownTokens.add(guest.tokenHash)
        self.bus.deleteWithoutWaiting(
            Keyspace.presence(guest.id), ifStill: self.presence(of: guest, on: connection))
    }

    func guestEnded(_ id: GuestID, before epoch: Epoch, _ why: ClusterNotice.EndReason) {
        guard let connection = self.boundGuests[id], connection.machine.guestEnded(before: epoch) else { return }
        self.endGuest(of: connection, why: why)
    }

    // MARK: Presence

    /// Says in Redis where the guest is.
    func showPresence(of guest: Guest, on connection: Connection) {
        self.bus.setWithoutWaiting(
            Keyspace.presence(guest.id), to: self.presence(of: guest, on: connection), for: GatewayLimits.presenceTTL)
    }

    private func presence(of guest: Guest, on connection: Connection) -> [UInt8] {
        Presence(node: self.node, connection: connection.id, epoch: guest.epoch).encoded()
    }

    // MARK: Checks

    /// Looks whether the tokens of these guests still live: the Notice that one has ended may be lost, or have come before
    /// the connection was bound. What the cache does not know is asked of auth.
    func check(_ connections: [Connection]) {
        let asked = connections.compactMap { connection in
            connection.machine.guest.map { (id: connection.id, hash: $0.tokenHash) }
        }
        guard !asked.isEmpty else { return }
        // Bare: each part lasts no longer than one answer of the bus, which has a limit of its own.
        Task {
            for start in stride(from: 0, to: asked.count, by: ClusterLimits.presencesPerReadMax) {
                let part = asked[start..<min(start + ClusterLimits.presencesPerReadMax, asked.count)]
                // A bus that is away is asked again at the next look.
                guard let cached = try? await self.bus.get(part.map { Keyspace.guest($0.hash) }) else { return }
                for ((id, hash), bytes) in zip(part, cached) {
                    if let bytes, let guest = try? Guest(decoding: bytes), guest.tokenHash == hash {
                        self.checked(guest, hash, on: id)
                    } else if self.pendingRequests.count < GatewayLimits.pendingRequestsMax {
                        self.ask(.guestCheck(tokenHash: hash), .guest(tokenHash: hash), for: id, from: nil)
                    }
                }
            }
        }
    }

    /// - Parameter guest: `nil` if the token (its hash) is nobody's by now.
    func checked(_ guest: Guest?, _ hash: Bytes32, on id: ConnectionID) {
        guard let connection = self.connections[id], connection.isOpen,
            let why = connection.machine.guestFound(guest, of: hash)
        else { return }
        self.endGuest(of: connection, why: why)
    }
}
