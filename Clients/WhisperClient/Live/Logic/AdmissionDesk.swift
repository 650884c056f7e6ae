package import Contract

/// Decides which callers may listen to one of our conversations (contract §14.7). Holds no socket and no clock.
///
/// The server's claims about a caller decide nothing. This device's earlier verdict and the content of the knock
/// decide.
package struct AdmissionDesk {
    /// A knocking listener, as the server shows it.
    package struct Knock: Sendable {
        package var listener: PrincipalID
        package var keys: PublicKeys
        /// Absent if the server calls the listener known.
        package var sealed: LiveSealedKnock?

        package init(listener: PrincipalID, keys: PublicKeys, sealed: LiveSealedKnock?) {
            self.listener = listener
            self.keys = keys
            self.sealed = sealed
        }
    }

    /// A knocking listener that our user decides about.
    package struct Caller: Hashable, Sendable {
        package var listener: PrincipalID
        package var keys: PublicKeys
        /// The caller's own choice, which is not verified.
        package var name: String
        package var note: String?
        /// The profile whose device the caller is, as the profile's key has signed.
        package var profileKey: Bytes32? = nil
    }

    package enum Decision: Hashable, Sendable {
        case grant
        case ask(Caller)
        case refuse(LiveRefuse.Reason)
        case ignore(Suspicion)
    }

    /// The reason why a knock gets no answer: it is not the listener's own, or is outdated.
    package enum Suspicion: Hashable, Sendable {
        case foreignKeys
        case badSignature
        /// The knock is older than the listener's removal.
        case old
        /// The same knock already waits for our user.
        case repeated
    }

    /// After this many wrong passcodes in a stream, a caller may be guessing: from then on our user decides about each
    /// one.
    package static let wrongPasscodesMax = 10
    /// Callers that wait for our user's decision: the server lets no more wait.
    package static let callersMax = LiveLimits.waitingMax

    private let keys: ConversationKeys
    private var link: LinkKeys
    private var admission: Admission
    private var passcode: String?
    private var known: [PrincipalID: KnownListener]
    /// In the order of arrival.
    package private(set) var callers: [Caller] = []
    /// Listeners whose profile the newest knock has shown to be of before: to be stored with its own.
    private(set) var outmoded: [KnownListener] = []
    private var wrongPasscodes = 0

    package init(_ conversation: OwnConversation, known: [KnownListener]) {
        self.keys = conversation.keys
        self.link = conversation.link
        self.admission = conversation.admission
        self.passcode = conversation.passcode
        self.known = Dictionary(known.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
    }

    /// The person has changed the conversation, here or on another device: it has another link, or another passcode.
    package mutating func follow(_ conversation: OwnConversation) {
        (self.link, self.admission, self.passcode) = (conversation.link, conversation.admission, conversation.passcode)
    }

    package subscript(listener: PrincipalID) -> KnownListener? { self.known[listener] }

    package var allowed: [KnownListener] { self.known.values.filter { $0.verdict == .allowed } }

    /// The oldest generation whose key no removed or blocked listener has, as far as this device knows.
    package var lowestGeneration: Int {
        self.known.values.filter { $0.verdict != .allowed }.reduce(1) { max($0, $1.generation + 1) }
    }

    /// A new stream begins: the count of wrong passcodes starts again.
    package mutating func streamBegan() { self.wrongPasscodes = 0 }

    // MARK: Knocks

    package mutating func knocked(_ knock: Knock) -> Decision {
        let id = knock.listener
        self.outmoded = []
        guard knock.keys.belong(to: id) else { return .ignore(.foreignKeys) }
        let before = self.known[id].flatMap { $0.keys == knock.keys ? $0 : nil }
        if before?.verdict == .blocked { return .refuse(.blocked) }
        guard let sealed = knock.sealed else {
            // A listener that this device admitted gets the new key. Any other listener is known by its id only.
            if before?.verdict == .allowed { return .grant }
            return self.ask(Caller(listener: id, keys: knock.keys, name: "\(id)", note: nil))
        }
        let seal = LiveSigned(
            from: id, timestamp: sealed.timestamp, nonce: sealed.nonce, ciphertext: sealed.ciphertext,
            signature: sealed.signature)
        guard seal.isSigned(as: .knock, of: self.keys.id, by: knock.keys) else { return .ignore(.badSignature) }
        let note = seal.opened(as: .knock, of: self.keys.id, signedBy: knock.keys, reader: self.keys.pair)
            .flatMap { KnockNote($0) }
            .flatMap { $0.hasTag(by: id, on: self.keys.id, at: sealed.timestamp, link: self.link) ? $0 : nil }
        let profile = note?.profile(of: id, on: self.keys.id)
        if before?.verdict == .allowed {
            if let profile { self.showed(profile, id) }
            return .grant
        }
        if let before, sealed.timestamp <= before.decidedAt { return .ignore(.old) }
        guard let note else { return .refuse(.declined) }
        let caller = Caller(
            listener: id, keys: knock.keys, name: note.name, note: note.note, profileKey: profile)
        if before == nil, let profile, self.admits(profile) { return self.grant(caller) }
        return self.decide(caller, note.passcode)
    }

    /// A listener shows its profile. People draw another key when they take a device out: as soon as one of their devices
    /// shows it, the key of before lets nobody in.
    private mutating func showed(_ profile: Bytes32, _ id: PrincipalID) {
        guard let before = self.known[id], before.profileKey != profile else { return }
        if before.profileKey == KnownListener.outmodedKey, !self.admits(profile) { return }
        if let key = before.profileKey, key != KnownListener.outmodedKey {
            for var other in self.known.values where other.profileKey == key && other.id != id {
                other.profileKey = KnownListener.outmodedKey
                self.known[other.id] = other
                self.outmoded.append(other)
            }
        }
        self.known[id]?.profileKey = profile
    }

    /// Whether devices of this profile were let in, and none was sent away.
    private func admits(_ profile: Bytes32) -> Bool {
        let devices = self.known.values.filter { $0.profileKey == profile }
        return !devices.isEmpty && devices.allSatisfy { $0.verdict == .allowed }
    }

    private mutating func decide(_ caller: Caller, _ passcode: String?) -> Decision {
        switch self.admission {
        case .knock: return self.ask(caller)
        case _ where self.wrongPasscodes >= Self.wrongPasscodesMax: return self.ask(caller)
        case .link: return self.grant(caller)
        case .passcode:
            guard let passcode, let wanted = self.passcode else { return self.ask(caller) }
            if Sodium.areEqual(Sodium.sha256(Array(passcode.utf8)), Sodium.sha256(Array(wanted.utf8))) {
                return self.grant(caller)
            }
            self.wrongPasscodes += 1
            return .refuse(.passcode)
        }
    }

    private mutating func ask(_ caller: Caller) -> Decision {
        if let index = self.callers.firstIndex(where: { $0.listener == caller.listener }) {
            guard self.callers[index] != caller else { return .ignore(.repeated) }
            self.callers[index] = caller
            return .ask(caller)
        }
        guard self.callers.count < Self.callersMax else { return .refuse(.declined) }
        self.callers.append(caller)
        return .ask(caller)
    }

    private mutating func grant(_ caller: Caller) -> Decision {
        self.forget(caller.listener)
        self.known[caller.listener] = KnownListener(
            id: caller.listener, keys: caller.keys, name: caller.name, verdict: .allowed,
            decidedAt: Timestamp(milliseconds: 0), generation: 0, profileKey: caller.profileKey)
        return .grant
    }

    // MARK: What our user decides

    /// Admits a caller, or a blocked listener.
    /// - Returns: `nil` if the listener is neither a caller nor blocked.
    package mutating func accept(_ listener: PrincipalID, at now: Timestamp) -> KnownListener? {
        if let caller = self.callers.first(where: { $0.listener == listener }) {
            _ = self.grant(caller)
        } else if self.known[listener]?.verdict == .blocked {
            self.known[listener]?.verdict = .allowed
        } else {
            return nil
        }
        self.known[listener]?.decidedAt = now
        return self.known[listener]
    }

    /// Declines a caller, which may knock again.
    package mutating func decline(_ listener: PrincipalID) -> Caller? {
        let caller = self.callers.first { $0.listener == listener }
        self.forget(listener)
        return caller
    }

    /// Removes or blocks a listener, or blocks a caller.
    /// - Parameter generation: the newest one, whose key an admitted listener may have.
    /// - Returns: `nil` for an unknown listener, unless it is a caller to block.
    package mutating func remove(
        _ listener: PrincipalID, isBlocked: Bool, generation: Int, at now: Timestamp
    ) -> KnownListener? {
        let before = self.known[listener]
        if let caller = self.callers.first(where: { $0.listener == listener }), isBlocked { _ = self.grant(caller) }
        guard var known = self.known[listener] else { return nil }
        // Only letting somebody in takes a block back.
        known.verdict = isBlocked || before?.verdict == .blocked ? .blocked : .removed
        known.decidedAt = now
        known.generation = before?.verdict == .allowed ? generation : before?.generation ?? 0
        self.known[listener] = known
        self.forget(listener)
        return known
    }

    /// Takes over what another of our devices has decided.
    /// - Returns: callers that need not be asked about any more, and listeners that are no longer allowed.
    package mutating func learn(_ decisions: [KnownListener]) -> (admitted: [PrincipalID], left: [KnownListener]) {
        var (admitted, left): ([PrincipalID], [KnownListener]) = ([], [])
        for decision in decisions {
            let before = self.known.updateValue(decision, forKey: decision.id)
            let isCaller = self.callers.contains { $0.listener == decision.id }
            if decision.verdict != .removed { self.forget(decision.id) }
            switch decision.verdict {
            case .allowed: if isCaller { admitted.append(decision.id) }
            case .removed, .blocked: if before?.verdict == .allowed { left.append(decision) }
            }
        }
        return (admitted, left)
    }

    /// The caller has left, or its knock has ended.
    package mutating func forget(_ listener: PrincipalID) { self.callers.removeAll { $0.listener == listener } }
}
