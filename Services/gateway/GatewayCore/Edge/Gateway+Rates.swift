import Bus
import Contract
import DequeModule
import NIOCore

/// Rates that gateways share: what is leased from Redis, and what waits for it.
extension Gateway {
    // MARK: Identities and guests

    func take(_ rate: Rate, _ principal: PrincipalID) -> RateLeases<PrincipalID>.Verdict {
        let (verdict, leaseRequest) = self.principalRates.take(rate, principal, at: self.now)
        if let leaseRequest { self.send(leaseRequest) }
        return verdict
    }

    private func send(_ leaseRequest: RateLeases<PrincipalID>.LeaseRequest) {
        // Bare: it lasts no longer than one answer of the bus, which has a limit of its own.
        Task {
            do throws(BusError) {
                let grant = try await self.bus.lease(
                    Keyspace.rateLimit(leaseRequest.rate, "\(leaseRequest.subject)"), leaseRequest.request)
                if self.principalRates.answered(leaseRequest, grant, at: self.now) { self.sharedCountWasLost() }
            } catch {
                self.principalRates.failed(leaseRequest, at: self.now)
            }
            self.goOn(leaseRequest.subject)
        }
    }

    /// Handles what has waited for a lease of this identity or guest.
    private func goOn(_ principal: PrincipalID) {
        switch principal {
        case .identity(let identity): self.goOn(identity)
        case .guest(let guest): if let connection = self.boundGuests[guest] { self.usesArrived(for: connection) }
        }
    }

    private func goOn(_ identity: WhisperID) {
        if !self.endedConnections.isEmpty {
            for connection in self.endedConnections where connection.session?.caller.identity == identity {
                self.usesArrived(for: connection)
            }
            self.endedConnections.removeAll { !$0.machine.awaitsUses }
        }
        if let connection = self.bound[identity] { self.usesArrived(for: connection) }
    }

    private func usesArrived(for connection: Connection) {
        connection.machine.usesArrived()
        self.goOn(connection)
    }

    // MARK: What Redis has lost

    /// One count was lost, so all were. After an emptying many answers say so: the first one is enough.
    private func sharedCountWasLost() {
        guard self.now >= self.lossHeardAt + GatewayLimits.ratesLookPause.milliseconds else { return }
        self.lossHeardAt = self.now
        self.sharedCountsWereLost()
    }

    /// - Parameter isLost: whether the count under this key may be.
    func sharedCountsWereLost(where isLost: (_ key: String) -> Bool = { _ in true }) {
        self.principalRates.sharedCountsWereLost(at: self.now) { isLost(Keyspace.rateLimit($0, "\($1)").name) }
        self.addressRates.sharedCountsWereLost(at: self.now) { isLost(Keyspace.rateLimit($0, "\($1)").name) }
        self.restoreSharedCounts()
    }

    private func restoreSharedCounts() {
        let max = GatewayLimits.ratesRestoredAtOnceMax
        for leaseRequest in self.principalRates.restore(max: max, at: self.now) { self.send(leaseRequest) }
        for leaseRequest in self.addressRates.restore(max: max, at: self.now) { self.send(leaseRequest) }
    }

    func lookAtRates() {
        self.restoreSharedCounts()
        self.lookAtLookUps()
        guard self.second % GatewayLimits.ratesLookSeconds == 0 else { return }
        self.principalRates.forgetRested(at: self.now)
        self.addressRates.forgetRested(at: self.now)
    }

    // MARK: Tokens that are nobody's, and failed proofs

    /// Look-ups of one address. Each takes a use of `Rates.unknownTokens` first, and gives it back if the token turns out
    /// to be valid. So no more are under way than may fail. Others wait as long as one of these may give its use back.
    struct LookUps {
        var underWay = 0
        var isBeingServed = false
        var waiting: Deque<LookUp> = []
    }

    struct LookUp {
        /// On the gateway's clock.
        let since: Int64
        let then: (isolated Gateway) -> Void
        /// - wait: milliseconds.
        let refused: (isolated Gateway, _ wait: Int64) -> Void
    }

    /// - Parameter then: begins to look it up. Every one is ended by `settle`.
    func admitLookUp(
        from address: ClientAddress, then: @escaping (isolated Gateway) -> Void,
        refused: @escaping (isolated Gateway, Int64) -> Void
    ) {
        guard self.lookUps[address]?.waiting.count ?? 0 < GatewayLimits.lookUpsWaitingMax else {
            return refused(self, GatewayLimits.localCountingFor.milliseconds)
        }
        self.lookUps[address, default: LookUps()].waiting.append(LookUp(since: self.now, then: then, refused: refused))
        self.serveLookUps(of: address)
    }

    private func serveLookUps(of address: ClientAddress) {
        // A look-up that fails at once is settled within its own call, and comes back to here.
        guard let lookUps = self.lookUps[address], !lookUps.isBeingServed else { return }
        self.lookUps[address]!.isBeingServed = true
        self.beginLookUps(of: address)
        self.lookUps[address]!.isBeingServed = false
        if self.lookUps[address]!.underWay == 0, self.lookUps[address]!.waiting.isEmpty { self.lookUps[address] = nil }
    }

    private func beginLookUps(of address: ClientAddress) {
        while let lookUps = self.lookUps[address], !lookUps.waiting.isEmpty {
            let (verdict, leaseRequest) = self.addressRates.take(Rates.unknownTokens, address, at: self.now)
            if let leaseRequest { self.send(leaseRequest) }
            switch verdict {
            case .admitted:
                self.lookUps[address]!.underWay += 1
                self.lookUps[address]!.waiting.removeFirst().then(self)
            case .unknown: return
            case .refused(let wait):
                guard lookUps.underWay == 0 else { return }
                self.lookUps[address]!.waiting.removeFirst().refused(self, wait)
            }
        }
    }

    private func send(_ leaseRequest: RateLeases<ClientAddress>.LeaseRequest) {
        // Bare: it lasts no longer than one answer of the bus, which has a limit of its own.
        Task {
            do throws(BusError) {
                let grant = try await self.bus.lease(
                    Keyspace.rateLimit(leaseRequest.rate, "\(leaseRequest.subject)"), leaseRequest.request)
                if self.addressRates.answered(leaseRequest, grant, at: self.now) { self.sharedCountWasLost() }
            } catch {
                self.addressRates.failed(leaseRequest, at: self.now)
            }
            self.serveLookUps(of: leaseRequest.subject)
        }
    }

    /// A look-up has ended.
    func settle(_ address: ClientAddress, isNobodys: Bool) {
        if !isNobodys { self.addressRates.giveBack(Rates.unknownTokens, address, at: self.now) }
        self.lookUps[address]?.underWay -= 1
        self.serveLookUps(of: address)
    }

    /// - Parameter answer: `nil` if there is none.
    func settle(_ request: PendingRequest, with answer: Answer?) {
        switch (request.kind, answer) {
        case (.session(_, let address?), .session(let session)):
            self.settle(address, isNobodys: session.map { $0.expiresAt <= .now } ?? true)
        case (.guest(_, let address?), .guest(let guest)):
            self.settle(address, isNobodys: guest.map { $0.expiresAt <= .now } ?? true)
        case (.login(let address), .refused(let refusal)): self.settle(address, isNobodys: refusal.code == .authFailed)
        case (.session(_, let address?), _), (.guest(_, let address?), _), (.login(let address), _):
            self.settle(address, isNobodys: false)
        default: break
        }
    }

    /// Has auth check a login, as often as logins from this address may fail.
    func check(proof frame: ReceivedFrame, on connection: Connection) {
        let (id, address) = (connection.id, connection.address)
        self.admitLookUp(from: address) { gateway in
            guard let connection = gateway.connections[id], connection.isOpen,
                gateway.ask(.auth, frame, session: nil, on: connection)
            else { return gateway.settle(address, isNobodys: false) }
        } refused: { gateway, wait in
            guard let connection = gateway.connections[id] else { return }
            gateway.refuse(connection, .overUnknownTokens(wait), requestID: frame.requestID)
        }
    }

    /// Refuses look-ups that have waited for longer than any answer takes.
    private func lookAtLookUps() {
        let end = self.now - ClusterLimits.answerMax.milliseconds
        for (address, lookUps) in self.lookUps {
            for lookUp in lookUps.waiting.prefix(while: { $0.since <= end }) {
                guard self.lookUps[address]?.waiting.popFirst() != nil else { break }
                lookUp.refused(self, GatewayLimits.localCountingFor.milliseconds)
            }
        }
    }
}
