import Bus
import ClusterContract
import Contract

/// The host of the look-ups of tokens.
protocol LookUpHost: RequestHost, RateGateHost {
    /// - Parameter session: `nil` if the token is nobody's.
    func lookedUp(_ session: Session?, on id: ConnectionID)
    /// - Parameter guest: `nil` if the token is nobody's.
    func lookedUp(_ guest: Guest?, on id: ConnectionID)
    /// The look-up failed, or was not allowed; nothing is known about the token.
    func lookUpFailed(on id: ConnectionID, _ refusal: Refusal)
}

/// Finds the session or guest of a token: in the cache, else at auth.
struct TokenLookUps {
    private let bus: any Bus
    private let rates: RateGate
    private let requests: Requests

    init(bus: any Bus, rates: RateGate, requests: Requests) {
        self.bus = bus
        self.rates = rates
        self.requests = requests
    }

    func lookUp(_ token: ShownToken, for connection: Connection, _ host: isolated some LookUpHost) {
        let (id, address) = (connection.id, connection.address)
        // A token that was valid here does not count against the address.
        if self.rates.takeKnown(token: token.hash) { return self.resolve(token, for: id, from: nil, host) }
        self.rates.admitLookUp(from: address, host) {
            self.resolve(token, for: id, from: address, host)
        } refused: {
            host.lookUpFailed(on: id, .overUnknownTokens($0))
        }
    }

    /// Has auth check a login, as often as logins from this address may fail.
    func check(proof frame: ReceivedFrame, on connection: Connection, _ host: isolated some LookUpHost) {
        let (id, address) = (connection.id, connection.address)
        self.rates.admitLookUp(from: address, host) {
            guard let connection = host.connection(id), connection.isOpen,
                self.requests.ask(.auth, frame, session: nil, on: connection, host)
            else { return self.giveBack(address, host) }
        } refused: { wait in
            guard let connection = host.connection(id) else { return }
            host.refuse(connection, .overUnknownTokens(wait), requestID: frame.requestID)
        }
    }

    /// - Parameter address: takes a use of its rate back unless the token is nobody's.
    private func resolve(
        _ token: ShownToken, for id: ConnectionID, from address: ClientAddress?, _ host: isolated some LookUpHost
    ) {
        guard host.connection(id)?.isPresent == true else { return self.giveBack(address, host) }
        // Bare: it lasts no longer than one answer of the bus, which has a limit of its own.
        Task {
            // A cache that is away, empty, from another release or somebody else's is no answer: auth has one.
            switch token {
            case .session(let hash):
                let cached = try? await self.bus.get(Keyspace.session(hash))
                if let cached, let session = try? Session(decoding: cached), session.tokenHash == hash {
                    if let address { self.rates.settle(address, isNobodys: session.expiresAt <= .now, host) }
                    host.lookedUp(session, on: id)
                } else {
                    self.ask(
                        .session(tokenHash: hash, from: address), .session(tokenHash: hash), for: id, address, host)
                }
            case .guest(let hash):
                let cached = try? await self.bus.get(Keyspace.guest(hash))
                if let cached, let guest = try? Guest(decoding: cached), guest.tokenHash == hash {
                    if let address { self.rates.settle(address, isNobodys: guest.expiresAt <= .now, host) }
                    host.lookedUp(guest, on: id)
                } else {
                    self.ask(.guest(tokenHash: hash, from: address), .guest(tokenHash: hash), for: id, address, host)
                }
            }
        }
    }

    private func ask(
        _ kind: PendingRequest.Kind, _ body: ServiceRequest.Body, for id: ConnectionID, _ address: ClientAddress?,
        _ host: isolated some LookUpHost
    ) {
        guard host.connection(id)?.isPresent == true else { return self.giveBack(address, host) }
        self.requests.ask(kind, body, for: id, host)
    }

    private func giveBack(_ address: ClientAddress?, _ host: isolated some LookUpHost) {
        if let address { self.rates.settle(address, isNobodys: false, host) }
    }
}
