import ClusterContract
import Contract
import Participants
import ServerCrypto

/// Admission of listeners (contract §14.7).
extension LiveRules {
    mutating func knock(_ knock: LiveKnock, _ frame: LiveFrame) throws(Refusal) -> Answer {
        let listener = frame.principal.id
        guard frame.principal.hasKeys(knock.signPublicKey, knock.encPublicKey) else {
            throw Refusal(.authFailed, "the keys are not the caller's")
        }
        try Self.check(knock.knock, .knock, of: knock.conversation, by: knock.signPublicKey)
        let found = self.book[knock.conversation]
        let known = found?.listeners[listener]
        let isRepeated = known?.knock?.nonce == knock.knock.nonce
        if !isRepeated { try Self.check(knock.knock.timestamp, of: frame) }
        // A proof is hashed whether there is a conversation or not: both take the same time.
        let verifier = SHA256.hash(knock.linkProof.bytes)
        guard constantTimeEqual(verifier, found?.linkVerifier ?? knock.linkProof), var conversation = found else {
            throw .noSuchConversation
        }
        if case .identity(let identity) = listener, self.isMember(identity, of: conversation.profile) {
            throw Refusal(.forbidden, "a device of the conversation's own profile joins without knocking")
        }
        if known?.status == .blocked { throw Refusal(.forbidden, "the caller is blocked") }
        if isRepeated, let known {
            // It may come on another connection.
            if known.status == .waiting || known.status == .admitted && known.generation != conversation.generation {
                conversation.wait(listener, frame)
                self.put(conversation)
            }
            return self.standing(of: known, in: conversation)
        }
        if known?.status != .waiting, known?.status != .admitted {
            try self.makeRoom(for: frame.origin, in: &conversation)
        }
        var row =
            known
            ?? LiveMachine.Listener(
                status: .waiting, signPublicKey: knock.signPublicKey, encPublicKey: knock.encPublicKey,
                since: self.time, seenAt: self.time)
        row.knock = knock.knock
        if row.status == .admitted, row.generation == conversation.generation {
            conversation.listeners[listener] = row
            self.put(conversation)
            return self.standing(of: row, in: conversation)
        }
        if row.status == .refused {
            row.status = .waiting
            row.since = self.time
            (row.refusal, row.refusalNonce) = (nil, nil)
        }
        row.expiresAt = self.time + LiveLimits.knockTTL
        row.seenAt = self.time
        conversation.listeners[listener] = row
        conversation.wait(listener, frame)
        conversation.knocksToldAt[listener] = self.time
        self.put(conversation)
        self.tellKnock(of: listener, row, in: conversation)
        return self.standing(of: row, in: conversation)
    }

    /// One more is going to wait. No address has more than a few places, and when all are taken, the oldest of the address with
    /// the most gives way: so nobody keeps others out.
    private mutating func makeRoom(for origin: UInt64, in conversation: inout LiveMachine) throws(Refusal) {
        let waiting = conversation.listeners.filter { $0.value.status == .waiting }
        let origins = waiting.keys.map { conversation.waiting[$0]?.origin ?? 0 }
        let places = Dictionary(origins.map { ($0, 1) }, uniquingKeysWith: +)
        guard origin == 0 || places[origin, default: 0] < self.limits.waitingOfAddressMax else {
            throw Refusal(
                .rateLimited, "too many of this address wait already",
                retryAfterMilliseconds: LiveLimits.knockOfAbsentTTL.milliseconds)
        }
        guard waiting.count >= LiveLimits.waitingMax else { return }
        /// The address with the most waiting listeners, counting the new one, loses its oldest.
        func rank(_ one: PrincipalID, _ row: LiveMachine.Listener) -> (Int, Int64, String) {
            let its = conversation.waiting[one]?.origin ?? 0
            // Addresses that are not known, after a new owner has come, are many.
            let taken = its == 0 ? 1 : places[its, default: 0] + (its == origin ? 1 : 0)
            return (taken, -row.since.milliseconds, "\(one)")
        }
        if let oldest = waiting.max(by: { rank($0.key, $0.value) < rank($1.key, $1.value) })?.key {
            self.sendAway(oldest, from: &conversation)
        }
    }

    /// Somebody has waited long enough, or makes room. It may knock again.
    mutating func sendAway(_ listener: PrincipalID, from conversation: inout LiveMachine) {
        let refused = LiveRefused(
            conversation: conversation.id, reason: .expired, timestamp: self.time, refusal: nil)
        self.tellings.append(.frame(Self.reader(listener, in: conversation), refused))
        conversation.listeners[listener] = nil
        conversation.waitsNoLonger(listener)
        self.tellHolder(of: listener, .refused, in: conversation)
    }

    /// The answer to a knock: the present state.
    private func standing(of row: LiveMachine.Listener, in conversation: LiveMachine) -> Answer {
        if row.status == .admitted, row.generation == conversation.generation,
            let admitted = conversation.admitted(row)
        {
            return .reply(admitted)
        }
        if row.status == .refused {
            return .reply(
                LiveRefused(
                    conversation: conversation.id, reason: row.refusal ?? .removed, timestamp: row.since, refusal: nil))
        }
        return .reply(
            LiveWaiting(
                conversation: conversation.id, state: conversation.state, expiresAt: row.expiresAt ?? self.time))
    }

    /// The holder decides; without one the connected devices of the profile do.
    mutating func tellKnock(
        of listener: PrincipalID, _ row: LiveMachine.Listener, in conversation: LiveMachine
    ) {
        let knocked = Self.knocked(listener, row, in: conversation)
        if let holder = conversation.stream?.connection {
            self.tellings.append(.frame(.connection(holder), knocked))
            if row.status == .waiting { self.tellHolder(of: listener, .waiting, in: conversation) }
        } else {
            self.tellings.append(
                .knock(
                    type: LiveKnocked.type, payload: knocked.json,
                    devices: (self.facts.members[conversation.profile] ?? []).sorted(),
                    otherwise: conversation.lastHolder ?? conversation.creator, conversation.id))
        }
    }

    static func knocked(
        _ listener: PrincipalID, _ row: LiveMachine.Listener, in conversation: LiveMachine
    ) -> LiveKnocked {
        LiveKnocked(
            conversation: conversation.id, listener: listener, isKnown: row.status == .admitted,
            signPublicKey: row.signPublicKey, encPublicKey: row.encPublicKey,
            knock: row.knock.map { LiveSealedKnock($0) })
    }

    mutating func grant(_ grant: LiveGrant, by caller: WhisperID, _ frame: LiveFrame) throws(Refusal) -> Answer {
        guard Set(grant.grants.map(\.to)).count == grant.grants.count else {
            throw Refusal(.invalidPayload, "grants: a listener stands in it twice")
        }
        var conversation = try self.own(grant.conversation, for: caller)
        for one in grant.grants {
            try Self.check(
                grant.signed(one), .grant(to: one.to), of: conversation.id, by: conversation.signPublicKey)
        }
        let before = conversation
        let isRepeated = grant.grants.allSatisfy { one in
            guard let row = before.listeners[one.to] else { return true }
            return row.status == .admitted && row.grant?.nonce == one.nonce
        }
        if !isRepeated { try Self.check(grant.timestamp, of: frame) }
        guard grant.generation == conversation.generation || grant.generation == conversation.generation + 1 else {
            throw Refusal(.forbidden, "generation is neither the present one nor the next")
        }
        conversation.generation = grant.generation
        var (granted, ignored): ([PrincipalID], [PrincipalID]) = ([], [])
        var isNew: Set<PrincipalID> = []
        for one in grant.grants {
            guard var row = conversation.listeners[one.to], row.status != .refused else {
                ignored.append(one.to)
                continue
            }
            granted.append(one.to)
            guard row.status != .admitted || row.grant?.nonce != one.nonce else { continue }
            isNew.insert(one.to)
            if row.status != .admitted {
                row.status = .admitted
                row.since = self.time
                (row.joinedContent, row.joinedAt) = (nil, nil)
            }
            row.expiresAt = nil
            row.grant = grant.signed(one)
            row.generation = grant.generation
            row.seenAt = self.time
            conversation.listeners[one.to] = row
        }
        guard conversation.listeners.values.count(where: { $0.status == .admitted }) <= self.limits.listenersMax
        else { throw Refusal(.forbidden, "the conversation has too many listeners") }
        if conversation.generation != before.generation { self.tellGeneration(of: conversation) }
        for listener in granted where isNew.contains(listener) {
            guard let row = conversation.listeners[listener], let admitted = conversation.admitted(row) else {
                continue
            }
            self.tellings.append(.frame(Self.reader(listener, in: conversation), admitted))
            if before.listeners[listener]?.status != .admitted {
                self.tellHolder(of: listener, .admitted, in: conversation)
            }
        }
        for listener in granted { conversation.waitsNoLonger(listener) }
        if conversation != before { self.put(conversation) }
        return .reply(
            LiveGranted(
                conversation: conversation.id, generation: conversation.generation, granted: granted,
                ignored: ignored))
    }

    /// Gateways drop packets of older keys from here on.
    private mutating func tellGeneration(of conversation: LiveMachine) {
        let stream = conversation.stream(at: self.time)
        if let holder = conversation.stream?.connection { self.tellings.append(.event(holder, .holds(stream))) }
        for attendance in conversation.attendances.values where attendance.goneAt == nil {
            self.tellings.append(.event(attendance.connection, .stream(stream)))
        }
    }

    mutating func refuse(_ refuse: LiveRefuse, by caller: WhisperID, _ frame: LiveFrame) throws(Refusal) -> Answer {
        var conversation = try self.own(refuse.conversation, for: caller)
        try Self.check(
            refuse.refusal, .refuse(to: refuse.to), of: conversation.id, by: conversation.signPublicKey)
        let row = conversation.listeners[refuse.to]
        let isRepeated = row?.refusalNonce == refuse.refusal.nonce
        if !isRepeated { try Self.check(refuse.refusal.timestamp, of: frame) }
        guard var row else { throw .noSuchListener }
        let status: LiveListenerChanged.Status = refuse.reason == .blocked ? .blocked : .refused
        if isRepeated { return .reply(self.changed(refuse.to, status, in: conversation)) }
        let reason: LiveRefused.Reason =
            switch refuse.reason {
            case .declined: .declined
            case .passcode: .passcode
            case .removed, .blocked: .removed
            }
        let reader = Self.reader(refuse.to, in: conversation)
        row.status = refuse.reason == .blocked ? .blocked : .refused
        row.since = self.time
        row.seenAt = self.time
        (row.grant, row.generation, row.expiresAt) = (nil, 0, nil)
        (row.joinedContent, row.joinedAt) = (nil, nil)
        (row.refusal, row.refusalNonce) = (reason, refuse.refusal.nonce)
        // Its nonce stays: a knock that is repeated gets the same answer.
        row.knock?.ciphertext = []
        conversation.listeners[refuse.to] = row
        conversation.forgetOldest(.refused, beyond: LiveLimits.refusedMax)
        conversation.forgetOldest(.blocked, beyond: LiveLimits.blockedMax)
        conversation.waitsNoLonger(refuse.to)
        if let attendance = conversation.attendances.removeValue(forKey: refuse.to) {
            self.tellings.append(.event(attendance.connection, .attendsNoLonger(conversation.id)))
        }
        self.put(conversation)
        self.tellings.append(
            .frame(
                reader,
                LiveRefused(
                    conversation: conversation.id, reason: reason, timestamp: refuse.refusal.timestamp,
                    refusal: refuse.refusal)))
        self.tellHolder(of: refuse.to, status, in: conversation, exceptOn: frame.connection)
        return .reply(self.changed(refuse.to, status, in: conversation))
    }
}
