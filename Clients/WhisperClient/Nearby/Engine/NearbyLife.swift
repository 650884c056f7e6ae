import Contract

/// Phones nearby and the connections to them. They need no connection to the server, and `run` need not run.
extension WhisperClient {
    /// Advertises this phone and scans for others, until `stopNearby` or the end of the link.
    package func startNearby(_ link: any NearbyLink, title: String) throws(NearbyError) {
        guard self.id != nil else { throw .noID }
        guard self.nearby == nil else { throw .isOn }
        self.nearbyCount += 1
        let number = self.nearbyCount
        self.nearby = Nearby(number, link, title: title)
        self.nearby?.life = Task {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await self.keepNearbyTime(of: number) }
                for await event in link.events { self.take(event, of: number) }
                group.cancelAll()
            }
            self.nearbyEnded(number)
        }
        link.start(title: title)
    }

    /// Returns when all connections nearby have ended.
    package func stopNearby() async {
        guard let nearby else { return }
        nearby.link.stop()
        await nearby.life?.value
    }

    package var nearbyTitle: String? { self.nearby?.title }

    /// The radio, and phones by their names.
    package var nearbyPhones: (radio: RadioState, phones: [NearbyPhone]) {
        guard let nearby else { return (.off, []) }
        return (nearby.radio, nearby.phones.values.sorted { $0.peer.name < $1.peer.name })
    }

    package func connectNearby(_ peer: NearbyPeer) throws(NearbyError) {
        guard let nearby else { throw .isOff }
        guard nearby.phones[peer] != nil else { throw .unknownPhone }
        nearby.link.connect(peer)
    }

    package func disconnectNearby(_ peer: NearbyPeer) throws(NearbyError) {
        guard let nearby else { throw .isOff }
        guard nearby.phones[peer] != nil else { throw .unknownPhone }
        nearby.link.disconnect(peer)
    }

    /// Sends plain text to a bare phone. Every phone around can read it.
    /// - Returns: a number, by which `NearbyNews.sent` reports the result.
    package func sendNearby(_ text: String, to peer: NearbyPeer) throws(NearbyError) -> UInt64 {
        guard let nearby else { throw .isOff }
        guard let session = nearby.sessions[peer], !session.isOver else {
            throw nearby.phones[peer] == nil ? .unknownPhone : .notConnected
        }
        guard session.handshake == nil else { throw .isOurs }
        return self.nearby!.send(.text(text), to: peer, .text)
    }

    /// Whether a contact is connected, and has proven its identity.
    func isNearby(_ id: WhisperID) -> Bool { self.nearby?.path.isHere(id) == true }

    /// The keys that a connected phone has proven to have.
    func nearbyKeys(of id: WhisperID) -> PublicKeys? {
        guard let nearby, let peer = nearby.peer(of: id) else { return nil }
        return nearby.sessions[peer]?.handshake?.proven?.keys
    }

    func hangUpNearby(_ id: WhisperID) {
        while let peer = self.nearby?.peer(of: id) { self.hangUp(peer) }
    }

    /// Disconnects a phone. Anything it still sends is ignored.
    private func hangUp(_ peer: NearbyPeer) {
        guard let session = self.nearby?.sessions[peer], !session.isOver else { return }
        self.nearby?.sessions[peer]?.isOver = true
        self.nearby?.link.disconnect(peer)
        if let id = session.handshake?.proven?.id { self.went(id) }
    }

    // MARK: Events

    private func take(_ event: NearbyEvent, of number: Int) {
        guard self.nearby?.number == number else { return }
        switch event {
        case .radio(let state):
            self.nearby?.radio = state
            if state != .on { self.forgetPhones() }
            self.publish(.passing(.nearby(.radio(state))))
        // These two events are frequent, and make no waiting message sendable.
        case .found(let peer, let title, let strength): return self.found(peer, title: title, strength: strength)
        case .lost(let peer): return self.lost(peer)
        case .connected(let peer, let isOurs): self.connected(peer, isOurs: isOurs)
        case .disconnected(let peer, let end):
            self.disconnected(peer, end)
        case .received(let peer, let value):
            guard let session = self.nearby?.sessions[peer], !session.isOver else { return }
            switch value {
            case .text(let text):
                guard session.handshake == nil, !text.isEmpty, let phone = self.nearby?.phones[peer] else { return }
                self.publish(.passing(.nearby(.text(phone, text))))
            case .bytes(let bytes): self.take(bytes, from: peer)
            }
        case .sent(let token, let arrived): self.sent(token, arrived: arrived)
        }
        self.pump()
    }

    private func found(_ peer: NearbyPeer, title: String, strength: Int) {
        guard let nearby, nearby.phones[peer] != nil || nearby.phones.count < NearbyLimits.phonesMax else { return }
        var phone = nearby.phones[peer] ?? NearbyPhone(peer)
        (phone.title, phone.strength) = (title, strength)
        self.nearby?.phones[peer] = phone
        self.nearby?.unheard.remove(peer)
        self.publish(.passing(.nearby(.found(phone))))
    }

    private func lost(_ peer: NearbyPeer) {
        guard self.nearby?.sessions[peer] == nil else {
            self.nearby?.unheard.insert(peer)
            return
        }
        guard let phone = self.nearby?.phones.removeValue(forKey: peer) else { return }
        self.publish(.passing(.nearby(.lost(phone))))
    }

    private func connected(_ peer: NearbyPeer, isOurs: Bool) {
        guard let nearby, let id = self.id, nearby.sessions[peer] == nil else { return }
        var phone = nearby.phones[peer]
        if phone == nil {
            phone = NearbyPhone(peer)
            self.nearby?.unheard.insert(peer)
        }
        guard var phone else { return }
        (phone.isConnected, phone.isOurs) = (true, isOurs)
        self.nearby?.phones[peer] = phone
        var session = Nearby.Session(provenBy: .now + NearbyLimits.handshakeMax)
        if isOurs {
            let handshake = NearbyHandshake(id: id, keys: self.keys, nonce: Sodium.random(NearbyLimits.nonceBytes))
            session.handshake = handshake
            self.nearby?.sessions[peer] = session
            _ = self.nearby?.send(.bytes(NearbyWord.bytes(of: handshake.hello)), to: peer)
        } else {
            self.nearby?.sessions[peer] = session
        }
        self.publish(.passing(.nearby(.connected(phone))))
    }

    private func disconnected(_ peer: NearbyPeer, _ end: NearbyEnd) {
        guard var phone = self.nearby?.phones[peer] else { return }
        let session = self.nearby?.sessions.removeValue(forKey: peer)
        if let id = session?.handshake?.proven?.id, session?.isOver == false { self.went(id) }
        (phone.isConnected, phone.id) = (false, nil)
        self.nearby?.phones[peer] = phone
        self.publish(.passing(.nearby(.disconnected(phone, end))))
        guard self.nearby?.unheard.remove(peer) != nil else { return }
        self.nearby?.phones[peer] = nil
        self.publish(.passing(.nearby(.lost(phone))))
    }

    /// Returns the message in the air to the server. Another connection to the same contact continues.
    private func went(_ id: WhisperID) {
        if let mail = self.nearby?.path.went(id) { self.bringBack(mail) }
        if self.nearby?.peer(of: id) != nil { self.nearby?.path.came(id) }
    }

    private func forgetPhones() {
        for peer in (self.nearby?.sessions ?? [:]).keys { self.disconnected(peer, .lost) }
        self.nearby?.phones = [:]
        self.nearby?.unheard = []
    }

    private func nearbyEnded(_ number: Int) {
        guard let nearby, nearby.number == number else { return }
        self.forgetPhones()
        self.nearby = nil
        if nearby.radio == .on || nearby.radio == .denied {
            self.publish(.passing(.nearby(.radio(.off))))
        }
        self.pump()
    }

    // MARK: Words

    private func take(_ bytes: [UInt8], from peer: NearbyPeer) {
        guard let verdict = self.nearby?.sessions[peer]?.handshake?.take(bytes) else { return self.hangUp(peer) }
        do {
            switch verdict {
            case .wait: break
            case .said(let hello):
                switch try self.answer(to: hello) {
                case .proof:
                    guard let proof = self.nearby?.sessions[peer]?.handshake?.proof else { return self.hangUp(peer) }
                    _ = self.nearby?.send(.bytes(proof), to: peer)
                case .silence: break
                case .refuse: self.hangUp(peer)
                }
            case .proven(let hello): try self.came(hello, peer)
            case .from(let hello, .message(let message)): try self.take(message, from: hello, at: peer)
            case .from(_, .receipt(let receipt, _)):
                self.progress(receipt.id, receipt.status == .read ? .read : .delivered, from: receipt.from)
            case .from: break
            case .refuse: self.hangUp(peer)
            }
        } catch {
            self.storeFailed(error)
        }
    }

    private enum Answer { case proof, silence, refuse }

    /// Our answer to a phone's hello. Any phone can send it: before its proof there is no alarm.
    private func answer(to hello: NearbyHello) throws(ClientStoreError) -> Answer {
        guard hello.keys.belong(to: hello.id) else { return .refuse }
        guard let contact = try self.store.contact(hello.id) else { return .proof }
        if contact.isBlocked { return .refuse }
        return contact.keys == hello.keys ? .proof : .silence
    }

    private func came(_ hello: NearbyHello, _ peer: NearbyPeer) throws(ClientStoreError) {
        let id = hello.id
        if let contact = try self.store.contact(id) {
            // The contact was blocked after its hello.
            if contact.isBlocked { return self.hangUp(peer) }
            guard contact.keys == hello.keys else {
                self.alarm(.changedKeys(of: id), once: "changed \(id)")
                return self.hangUp(peer)
            }
        }
        let count = (self.nearby?.provenCount ?? 0) + 1
        self.nearby?.provenCount = count
        self.nearby?.sessions[peer]?.provenAs = count
        self.nearby?.phones[peer]?.id = id
        self.nearby?.path.came(id)
        if let phone = self.nearby?.phones[peer] { self.publish(.passing(.nearby(.known(phone)))) }
    }

    // MARK: Time

    private func keepNearbyTime(of number: Int) async {
        while !Task.isCancelled, self.nearby?.number == number {
            await self.nearby?.timer.sleep(until: self.nearby?.nextWake)
            self.nearbyTick()
        }
    }

    private func nearbyTick() {
        guard let nearby else { return }
        for (peer, session) in nearby.sessions where !session.isOver && session.provenBy <= .now {
            guard let handshake = session.handshake, handshake.proven == nil else { continue }
            self.hangUp(peer)
        }
        for peer in nearby.sessions.keys { self.nearby?.sessions[peer]?.marks.timerFired(at: .now) }
        let late = self.nearby?.path.timerFired(at: .now, hasServer: self.isOnline) ?? []
        for id in late { self.bringBack(id) }
        self.pump()
    }

    /// Call it after anything that may have brought a deadline nearer.
    func rearmNearby() { self.nearby?.timer.wake(ifBefore: self.nearby?.nextWake) }
}
