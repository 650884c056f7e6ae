import Bus
import ClusterContract
import Contract
import DequeModule

/// The host of the gate of rates.
protocol RateGateHost: SessionHost {
    /// Handles the frames that have waited and may go on.
    func goOn(_ connection: Connection)
}

/// Rates that gateways share: uses that are leased from Redis, and frames and look-ups that wait for them.
final class RateGate {
    private let bus: any Bus
    private let limiter: RateLimiter
    private var principals: RateLeases<PrincipalID>
    private var addresses: RateLeases<ClientAddress>
    /// Identities with other rates than everybody's (contract §20.7): as auth has last told, and as their sessions say that came since.
    /// A class that this gateway's settings do not name is none.
    private var classes: [WhisperID: RateTerms] = [:]
    /// When an answer last said that Redis had lost its counts.
    private var lossHeardAt: Int64 = 0
    /// Tokens and proofs of each address that are being looked up, or are to be.
    private var lookUps: [ClientAddress: LookUps] = [:]
    private var knownTokens = KnownTokens()
    /// Connections that have ended while frames of theirs waited for a rate.
    private var ended: [Connection] = []

    init(bus: any Bus, rates: RateTable, classes: RateClasses) {
        self.bus = bus
        self.limiter = RateLimiter(bus: bus, rates: rates)
        self.principals = RateLeases(
            Rates.all.filter { $0.per != .address }, of: rates, classes: classes,
            countedMax: GatewayLimits.principalRatesCountedMax)
        self.addresses = RateLeases(
            [Rates.unknownTokens], of: rates, countedMax: GatewayLimits.addressRatesCountedMax)
    }

    /// Counts one use of a rate that all gateways share, and goes on with a connection that has not been closed meanwhile.
    /// - Parameters:
    ///   - subject: `nil` for the connection's address.
    ///   - refused: gets the milliseconds to wait.
    func admit(
        _ rate: Rate, of subject: String? = nil, _ connection: Connection, _ host: isolated some EdgeHost,
        then: @escaping (Connection) -> Void, refused: @escaping (Connection, Int64) -> Void
    ) {
        let (id, subject) = (connection.id, subject ?? "\(connection.address)")
        // Bare: it lasts no longer than one answer of the bus, which has a limit of its own.
        Task {
            let wait = await self.limiter.admit(rate, subject)
            guard let connection = host.connection(id), connection.isPresent else { return }
            if let wait { refused(connection, wait) } else { then(connection) }
        }
    }

    // MARK: Identities and guests

    func take(
        _ rate: Rate, _ principal: PrincipalID, _ host: isolated some RateGateHost
    ) -> RateLeases<PrincipalID>.Verdict {
        let (verdict, leaseRequest) = self.principals.take(rate, principal, as: self.terms(of: principal), at: host.now)
        if let leaseRequest { self.send(leaseRequest, host) }
        return verdict
    }

    private func terms(of principal: PrincipalID) -> RateTerms {
        guard case .identity(let identity) = principal, !self.classes.isEmpty else { return .usual }
        return self.classes[identity] ?? .usual
    }

    /// A connection belongs to this session from here on.
    func bound(_ session: Session) {
        self.classes[session.caller.identity] = session.rateClass.flatMap { self.principals.terms(of: $0) }
    }

    /// These have a class, and nobody else.
    func classesAre(_ grants: [RateClassGrant]) {
        guard !grants.isEmpty || !self.classes.isEmpty else { return }
        let known = grants.compactMap { grant in self.principals.terms(of: grant.name).map { (grant.identity, $0) } }
        self.classes = Dictionary(known) { $1 }
    }

    private func send(_ leaseRequest: RateLeases<PrincipalID>.LeaseRequest, _ host: isolated some RateGateHost) {
        self.send(leaseRequest, \.principals, host) { self.usesArrived(for: leaseRequest.subject, host) }
    }

    private func send(_ leaseRequest: RateLeases<ClientAddress>.LeaseRequest, _ host: isolated some RateGateHost) {
        self.send(leaseRequest, \.addresses, host) { self.serveLookUps(of: leaseRequest.subject, host) }
    }

    private func send<Subject>(
        _ leaseRequest: RateLeases<Subject>.LeaseRequest,
        _ leases: ReferenceWritableKeyPath<RateGate, RateLeases<Subject>>, _ host: isolated some RateGateHost,
        then: @escaping () -> Void
    ) {
        // Bare: it lasts no longer than one answer of the bus, which has a limit of its own.
        Task {
            do throws(BusError) {
                let grant = try await self.bus.lease(
                    Keyspace.rateLimit(leaseRequest.rate, "\(leaseRequest.subject)"), leaseRequest.request)
                if self[keyPath: leases].answered(leaseRequest, grant, at: host.now) { self.sharedCountWasLost(host) }
            } catch {
                self[keyPath: leases].failed(leaseRequest, at: host.now)
            }
            then()
        }
    }

    /// Has the frames handled that waited for a lease of this identity or guest.
    private func usesArrived(for principal: PrincipalID, _ host: isolated some RateGateHost) {
        for connection in self.ended where connection.principal == principal {
            self.usesArrived(on: connection, host)
        }
        self.ended.removeAll { !$0.machine.awaitsUses }
        if let connection = host.bound(principal) { self.usesArrived(on: connection, host) }
    }

    private func usesArrived(on connection: Connection, _ host: isolated some RateGateHost) {
        connection.machine.usesArrived()
        host.goOn(connection)
    }

    /// The connection has ended while frames of it waited.
    func framesWait(of connection: Connection) {
        if self.ended.count < GatewayLimits.endedConnectionsMax { self.ended.append(connection) }
    }

    // MARK: What Redis has lost

    /// If Redis lost a count, it lost all. After an emptying many answers say so: the first one is enough.
    private func sharedCountWasLost(_ host: isolated some RateGateHost) {
        guard host.now >= self.lossHeardAt + GatewayLimits.ratesLookPause.milliseconds else { return }
        self.lossHeardAt = host.now
        self.sharedCountsWereLost(host)
    }

    /// - Parameter isLost: whether the count under this key may be.
    func sharedCountsWereLost(
        where isLost: (_ key: String) -> Bool = { _ in true }, _ host: isolated some RateGateHost
    ) {
        self.principals.sharedCountsWereLost(at: host.now) { isLost(Keyspace.rateLimit($0, "\($1)").name) }
        self.addresses.sharedCountsWereLost(at: host.now) { isLost(Keyspace.rateLimit($0, "\($1)").name) }
        self.restoreSharedCounts(host)
    }

    private func restoreSharedCounts(_ host: isolated some RateGateHost) {
        let max = GatewayLimits.ratesRestoredAtOnceMax
        for leaseRequest in self.principals.restore(max: max, at: host.now) { self.send(leaseRequest, host) }
        for leaseRequest in self.addresses.restore(max: max, at: host.now) { self.send(leaseRequest, host) }
    }

    /// Runs once a second.
    func check(_ second: Int, _ host: isolated some RateGateHost) {
        self.restoreSharedCounts(host)
        self.refuseOldLookUps(host)
        guard second % GatewayLimits.ratesLookSeconds == 0 else { return }
        self.principals.forgetRested(at: host.now)
        self.addresses.forgetRested(at: host.now)
    }

    // MARK: Unknown tokens, and failed proofs

    /// Look-ups of one address. Each takes a use of `Rates.unknownTokens` first, and gives it back if the token turns out
    /// to be valid. So no more are under way than may fail. Others wait as long as one of these may give its use back.
    private struct LookUps {
        var underWay = 0
        var isBeingServed = false
        var waiting: Deque<LookUp> = []
    }

    private struct LookUp {
        /// On the gateway's clock.
        let since: Int64
        let then: () -> Void
        /// - wait: milliseconds.
        let refused: (_ wait: Int64) -> Void
    }

    /// A connection with this token was valid until it ended here.
    func remember(token hash: Bytes32) { self.knownTokens.add(hash) }

    /// Whether a token was valid here. Its look-up does not count against its address, once.
    func takeKnown(token hash: Bytes32) -> Bool { self.knownTokens.take(hash) }

    /// - Parameter then: begins the look-up. `settle` ends each.
    func admitLookUp(
        from address: ClientAddress, _ host: isolated some RateGateHost, then: @escaping () -> Void,
        refused: @escaping (Int64) -> Void
    ) {
        guard self.lookUps[address]?.waiting.count ?? 0 < GatewayLimits.lookUpsWaitingMax else {
            return refused(GatewayLimits.localCountingFor.milliseconds)
        }
        self.lookUps[address, default: LookUps()].waiting.append(LookUp(since: host.now, then: then, refused: refused))
        self.serveLookUps(of: address, host)
    }

    private func serveLookUps(of address: ClientAddress, _ host: isolated some RateGateHost) {
        // A look-up that fails at once is settled within its own call, and comes back to here.
        guard let lookUps = self.lookUps[address], !lookUps.isBeingServed else { return }
        self.lookUps[address]!.isBeingServed = true
        self.beginLookUps(of: address, host)
        self.lookUps[address]!.isBeingServed = false
        if self.lookUps[address]!.underWay == 0, self.lookUps[address]!.waiting.isEmpty { self.lookUps[address] = nil }
    }

    private func beginLookUps(of address: ClientAddress, _ host: isolated some RateGateHost) {
        while let lookUps = self.lookUps[address], !lookUps.waiting.isEmpty {
            let (verdict, leaseRequest) = self.addresses.take(Rates.unknownTokens, address, at: host.now)
            if let leaseRequest { self.send(leaseRequest, host) }
            switch verdict {
            case .admitted:
                self.lookUps[address]!.underWay += 1
                self.lookUps[address]!.waiting.removeFirst().then()
            case .unknown: return
            case .refused(let wait):
                guard lookUps.underWay == 0 else { return }
                self.lookUps[address]!.waiting.removeFirst().refused(wait)
            }
        }
    }

    /// A look-up has ended.
    func settle(_ address: ClientAddress, isNobodys: Bool, _ host: isolated some RateGateHost) {
        if !isNobodys { self.addresses.giveBack(Rates.unknownTokens, address, at: host.now) }
        self.lookUps[address]?.underWay -= 1
        self.serveLookUps(of: address, host)
    }

    /// A request has ended.
    /// - Parameter answer: `nil` if there is none.
    func settle(_ request: PendingRequest, with answer: Answer?, _ host: isolated some RateGateHost) {
        let address: ClientAddress
        var isNobodys = false
        switch request.kind {
        case .session(_, let from?):
            address = from
            if case .session(let session) = answer { isNobodys = session.map { $0.expiresAt <= .now } ?? true }
        case .guest(_, let from?):
            address = from
            if case .guest(let guest) = answer { isNobodys = guest.map { $0.expiresAt <= .now } ?? true }
        case .login(let from):
            address = from
            // A wrong invitation is a guess, as a wrong signature is.
            if case .refused(let refusal) = answer {
                isNobodys = refusal.code == .authFailed || refusal.reason == .invitationInvalid
            }
        default: return
        }
        self.settle(address, isNobodys: isNobodys, host)
    }

    /// Releases the gateway, which has ended: look-ups that wait refer to it.
    func forgetLookUps() { self.lookUps = [:] }

    /// Refuses look-ups that have waited for longer than any answer takes.
    private func refuseOldLookUps(_ host: isolated some RateGateHost) {
        let end = host.now - ClusterLimits.answerMax.milliseconds
        for (address, lookUps) in self.lookUps {
            for lookUp in lookUps.waiting.prefix(while: { $0.since <= end }) {
                guard self.lookUps[address]?.waiting.popFirst() != nil else { break }
                lookUp.refused(GatewayLimits.localCountingFor.milliseconds)
            }
        }
    }
}
