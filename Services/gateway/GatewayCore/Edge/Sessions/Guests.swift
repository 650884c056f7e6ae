import Bus
import ClusterContract
import Contract
import ServerCrypto
import Telemetry

/// Connections of guests (contract §14.3), and where Redis says that each guest is.
final class Guests {
    private let node: NodeID
    private let bus: any Bus
    private let metrics: GatewayMetrics
    private let rates: RateGate
    private let requests: Requests
    /// The live connection of each guest on this node.
    private var bound: [GuestID: Connection] = [:]

    init(node: NodeID, bus: any Bus, metrics: GatewayMetrics, rates: RateGate, requests: Requests) {
        self.node = node
        self.bus = bus
        self.metrics = metrics
        self.rates = rates
        self.requests = requests
    }

    subscript(guest: GuestID) -> Connection? { self.bound[guest] }

    /// Whether a frame of a guest's proof may go on on this connection (contract §19.16). Other frames may.
    func mayProve(_ frame: ReceivedFrame, on connection: Connection, _ host: isolated some EdgeHost) -> Bool {
        switch frame.definition.type {
        case GuestBegin.definition.type:
            let begin = host.read(frame, on: connection) { payload throws(Payload.Corrupted) in
                try GuestBegin(payload)
            }
            guard let begin else { return true }
            let guest = GuestID.derived(
                signPublicKey: begin.signPublicKey.bytes, encPublicKey: begin.encPublicKey.bytes
            ) { SHA256.hash($0).bytes }
            return connection.machine.mayProve(guest)
        case GuestProof.definition.type: return connection.machine.mayProve(nil)
        default: return true
        }
    }

    /// Binds the connection to the guest, and ends another connection of the guest here; or the other stays, and this one
    /// ends. A connection at another gateway is told (`claim`).
    /// - Parameters:
    ///   - shownAt: when it showed the token, on the gateway's clock; `nil` for now.
    ///   - welcome: tells the client that its proof succeeded.
    func bind(
        _ connection: Connection, to guest: Guest, shownAt: Int64? = nil, _ host: isolated some RequestHost,
        welcome: () -> Void = {}
    ) {
        let shownAt = shownAt ?? host.now
        if let other = self.bound[guest.id], other !== connection {
            guard !other.machine.staysLive(against: guest, shownAt: shownAt) else {
                welcome()
                return Self.end(connection, host)
            }
            Self.end(other, host)
        }
        connection.machine.bind(to: guest, shownAt: shownAt)
        self.bound[guest.id] = connection
        self.metrics.guests.set(self.bound.count)
        self.claim(guest, for: connection, host)
        welcome()
        // The Notice of a newer proof may have come while this one was answered.
        self.check([connection], host)
    }

    /// Another proof or connection has taken over, or an operator has banned the guest.
    private static func end(
        _ connection: Connection, why: ClusterNotice.EndReason = .replaced, _ host: isolated some EdgeHost
    ) {
        switch why {
        case .replaced:
            host.refuse(
                connection, Refusal(.authFailed, "the guest has a newer connection or proof"), requestID: nil)
            host.close(connection, .sessionReplaced)
        case .banned:
            host.refuse(connection, .bannedGuest, requestID: nil)
            host.close(connection, .banned)
        }
    }

    /// The connection is no longer its guest's live one.
    func leave(_ connection: Connection) {
        guard let guest = connection.machine.guest, self.bound[guest.id] === connection else { return }
        self.bound[guest.id] = nil
        self.metrics.guests.set(self.bound.count)
        self.rates.remember(token: guest.tokenHash)
        self.bus.deleteWithoutWaiting(
            Keyspace.presence(guest.id), ifStill: self.presence(of: guest, on: connection))
    }

    func ended(
        _ id: GuestID, before epoch: Epoch, _ why: ClusterNotice.EndReason, _ host: isolated some EdgeHost
    ) {
        guard let connection = self.bound[id], connection.machine.guestEnded(before: epoch),
            why == .banned || !self.requests.changesSession(connection.id)
        else { return }
        Self.end(connection, why: why, host)
    }

    // MARK: Presence

    /// Says in Redis where the guest is. The connection that stood there before, at another gateway, is to be told: auth
    /// tells it, because gateways send each other content alone.
    private func claim(_ guest: Guest, for connection: Connection, _ host: isolated some RequestHost) {
        let id = connection.id
        // The bus calls back on the host's loop, where the guests live.
        nonisolated(unsafe) let guests = self
        self.bus.exchangeWithoutWaiting(
            Keyspace.presence(guest.id), for: self.presence(of: guest, on: connection), for: GatewayLimits.presenceTTL
        ) { found in
            // Without an answer the next check finds what stands there.
            guard case .success(let bytes?) = found, let other = try? Presence(decoding: bytes) else { return }
            host.assumeIsolated { guests.claimed(guest, for: id, from: other, $0) }
        }
    }

    private func claimed(
        _ guest: Guest, for id: ConnectionID, from other: Presence, _ host: isolated some RequestHost
    ) {
        guard other.node != self.node, let connection = host.connection(id), connection.isOpen,
            let age = connection.machine.guestAge(at: host.now)
        else { return }
        let move = GuestMove(from: other, epoch: guest.epoch, age: age)
        self.requests.tell(.auth, .guestMoved(move), on: connection, host)
    }

    /// A connection at another gateway has said that the guest is there. This one says so again if it is newer; else the one
    /// stays that Redis names now. So of two that speak at once exactly one stays.
    func moved(from id: ConnectionID, epoch: Epoch, age: Int64, _ host: isolated some RequestHost) {
        guard let connection = host.connection(id), connection.isOpen, let guest = connection.machine.guest else {
            return
        }
        // The number came from another process: it may be anything.
        guard !connection.machine.staysLive(against: epoch, shownAt: host.now - max(0, age)) else {
            return self.claim(guest, for: connection, host)
        }
        // Bare: it lasts no longer than one answer of the bus, which has a limit of its own.
        Task {
            // A bus that is away is asked again at the next check.
            guard let presence = try? await self.bus.get([Keyspace.presence(guest.id)]).first else { return }
            self.found(presence: presence, of: guest.id, on: id, isFinal: true, host)
        }
    }

    private func presence(of guest: Guest, on connection: Connection) -> [UInt8] {
        Presence(node: self.node, connection: connection.id, epoch: guest.epoch).encoded()
    }

    // MARK: Checks

    /// Checks whether the tokens of these guests still live, and whether Redis says that the guests are here: the Notice that
    /// one has ended or moved may be lost, or have come before the connection was bound. The gateway asks auth about
    /// tokens that the cache does not know.
    func check(_ connections: [Connection], _ host: isolated some RequestHost) {
        let asked = connections.compactMap { connection in connection.machine.guest.map { (connection.id, $0) } }
        guard !asked.isEmpty else { return }
        // Bare: each part lasts no longer than one answer of the bus, which has a limit of its own.
        Task {
            for start in stride(from: 0, to: asked.count, by: ClusterLimits.presencesPerReadMax / 2) {
                let part = asked[start..<min(start + ClusterLimits.presencesPerReadMax / 2, asked.count)]
                // A bus that is away is asked again at the next check.
                guard
                    let found = try? await self.bus.get(
                        part.map { Keyspace.guest($1.tokenHash) } + part.map { Keyspace.presence($1.id) })
                else { return }
                for ((id, guest), (cached, presence)) in zip(part, zip(found, found[part.count...])) {
                    self.found(cached, of: guest.tokenHash, on: id, host)
                    self.found(presence: presence, of: guest.id, on: id, host)
                }
            }
        }
    }

    private func found(
        _ cached: [UInt8]?, of hash: Bytes32, on id: ConnectionID, _ host: isolated some RequestHost
    ) {
        if let cached, let guest = try? Guest(decoding: cached), guest.tokenHash == hash {
            self.checked(guest, hash, on: id, host)
        } else if !self.requests.isFull, host.connection(id)?.isOpen == true {
            self.requests.ask(.guestCheck(tokenHash: hash), .guest(tokenHash: hash), for: id, host)
        }
    }

    /// - Parameters:
    ///   - presence: what Redis says of the guest; `nil` for nothing.
    ///   - isFinal: another connection is known to be the newer one, or as new. Otherwise it may be gone.
    private func found(
        presence: [UInt8]?, of id: GuestID, on connectionID: ConnectionID, isFinal: Bool = false,
        _ host: isolated some RequestHost
    ) {
        guard let connection = self.bound[id], connection.id == connectionID,
            let guest = connection.machine.guest,
            presence != self.presence(of: guest, on: connection)
        else { return }
        if isFinal, presence != nil { return Self.end(connection, host) }
        self.claim(guest, for: connection, host)
    }

    /// - Parameter guest: `nil` if the token (its hash) is nobody's by now.
    func checked(_ guest: Guest?, _ hash: Bytes32, on id: ConnectionID, _ host: isolated some EdgeHost) {
        guard let connection = host.connection(id), connection.isOpen,
            let why = connection.machine.guestFound(guest, of: hash),
            why == .banned || !self.requests.changesSession(id)
        else { return }
        Self.end(connection, why: why, host)
    }
}
