import Contract
import Logging

/// Phones nearby and the connections to them: plain text with bare phones, and mail with contacts, which is sealed,
/// signed, verified and stored like mail of the server. All this needs no connection to the server, and `run` need not
/// run.
package final class Nearby {
    private let keys: IdentityKeys
    private let store: ClientStore
    private let logger: Logger
    /// `nil` while nearby is off.
    private var air: Air?
    /// The number of the last link.
    private var count = 0

    init(keys: IdentityKeys, store: ClientStore, logger: Logger) {
        self.keys = keys
        self.store = store
        self.logger = logger
    }

    /// Advertises this phone and scans for others, until `stop` or the end of the link.
    package func start(
        _ link: any NearbyLink, title: String, _ host: isolated some MailHost
    ) throws(NearbyError) {
        guard host.id != nil else { throw .noID }
        guard self.air == nil else { throw .isOn }
        self.count += 1
        let number = self.count
        self.air = Air(number, link, title: title)
        self.air?.life = Task { await host.nearby.live(link, number, host) }
        link.start(title: title)
    }

    /// Returns when all connections nearby have ended.
    package func stop(_ host: isolated some MailHost) async {
        guard let air else { return }
        air.link.stop()
        await air.life?.value
    }

    /// The title under which this phone is advertised.
    package var title: String? { self.air?.title }

    /// The radio, and phones by their names.
    package var phones: (radio: RadioState, phones: [NearbyPhone]) {
        guard let air else { return (.off, []) }
        return (air.radio, air.phones.values.sorted { $0.peer.name < $1.peer.name })
    }

    package func connect(_ peer: NearbyPeer) throws(NearbyError) { try self.link(to: peer).connect(peer) }

    package func disconnect(_ peer: NearbyPeer) throws(NearbyError) { try self.link(to: peer).disconnect(peer) }

    private func link(to peer: NearbyPeer) throws(NearbyError) -> any NearbyLink {
        guard let air else { throw .isOff }
        guard air.phones[peer] != nil else { throw .unknownPhone }
        return air.link
    }

    /// Sends plain text to a bare phone. Every phone around can read it.
    /// - Returns: a number, by which `NearbyNews.sent` reports the result.
    package func send(_ text: String, to peer: NearbyPeer) throws(NearbyError) -> UInt64 {
        guard let air else { throw .isOff }
        guard let session = air.sessions[peer], !session.isOver else {
            throw air.phones[peer] == nil ? .unknownPhone : .notConnected
        }
        guard session.handshake == nil else { throw .isOurs }
        return self.air!.send(.text(text), to: peer, .text)
    }

    /// Contacts that are connected, and have proven their identity.
    var contacts: [WhisperID] { self.air?.path.contacts ?? [] }

    /// The keys that a connected phone has proven to have.
    func keys(of id: WhisperID) -> PublicKeys? {
        guard let air, let peer = air.peer(of: id) else { return nil }
        return air.sessions[peer]?.handshake?.proven?.keys
    }

    func hangUp(on id: WhisperID, _ host: isolated some MailHost) {
        while let peer = self.air?.peer(of: id) { self.hangUp(peer, host) }
    }

    /// Disconnects a phone. Anything it still sends is ignored.
    private func hangUp(_ peer: NearbyPeer, _ host: isolated some MailHost) {
        guard let session = self.air?.sessions[peer], !session.isOver else { return }
        self.air?.sessions[peer]?.isOver = true
        self.air?.link.disconnect(peer)
        if let id = session.handshake?.proven?.id { self.went(id, host) }
    }

    // MARK: Events

    private func live(_ link: any NearbyLink, _ number: Int, _ host: isolated some MailHost) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await host.with { await $0.nearby.keepTime(of: number, $0) } }
            for await event in link.events { self.take(event, of: number, host) }
            group.cancelAll()
        }
        self.ended(number, host)
    }

    private func take(_ event: NearbyEvent, of number: Int, _ host: isolated some MailHost) {
        guard self.air?.number == number else { return }
        switch event {
        case .radio(let state):
            self.air?.radio = state
            if state != .on { self.forgetPhones(host) }
            host.publish(.radio(state))
        // These two events are frequent, and make no waiting message sendable.
        case .found(let peer, let title, let strength): return self.found(peer, title: title, strength: strength, host)
        case .lost(let peer): return self.lost(peer, host)
        case .connected(let peer, let isOurs): self.connected(peer, isOurs: isOurs, host)
        case .disconnected(let peer, let end): self.disconnected(peer, end, host)
        case .received(let peer, let value):
            guard let session = self.air?.sessions[peer], !session.isOver else { return }
            switch value {
            case .text(let text):
                guard session.handshake == nil, !text.isEmpty, let phone = self.air?.phones[peer] else { return }
                host.publish(.text(phone, text))
            case .bytes(let bytes): self.take(bytes, from: peer, host)
            }
        case .sent(let token, let arrived): self.sent(token, arrived: arrived, host)
        }
        host.pump()
    }

    private func found(_ peer: NearbyPeer, title: String, strength: Int, _ host: isolated some MailHost) {
        guard let air, air.phones[peer] != nil || air.phones.count < NearbyLimits.phonesMax else { return }
        var phone = air.phones[peer] ?? NearbyPhone(peer)
        (phone.title, phone.strength) = (title, strength)
        self.air?.phones[peer] = phone
        self.air?.unheard.remove(peer)
        host.publish(.found(phone))
    }

    private func lost(_ peer: NearbyPeer, _ host: isolated some MailHost) {
        guard self.air?.sessions[peer] == nil else {
            self.air?.unheard.insert(peer)
            return
        }
        guard let phone = self.air?.phones.removeValue(forKey: peer) else { return }
        host.publish(.lost(phone))
    }

    private func connected(_ peer: NearbyPeer, isOurs: Bool, _ host: isolated some MailHost) {
        guard let air, let id = host.id, air.sessions[peer] == nil else { return }
        var phone = air.phones[peer]
        if phone == nil {
            phone = NearbyPhone(peer)
            self.air?.unheard.insert(peer)
        }
        guard var phone else { return }
        (phone.isConnected, phone.isOurs) = (true, isOurs)
        self.air?.phones[peer] = phone
        var session = Session(provenBy: .now + NearbyLimits.handshakeMax)
        if isOurs {
            let handshake = NearbyHandshake(id: id, keys: self.keys, nonce: Sodium.random(NearbyLimits.nonceBytes))
            session.handshake = handshake
            self.air?.sessions[peer] = session
            _ = self.air?.send(.bytes(NearbyWord.bytes(of: handshake.hello)), to: peer)
        } else {
            self.air?.sessions[peer] = session
        }
        host.publish(.connected(phone))
    }

    private func disconnected(_ peer: NearbyPeer, _ end: NearbyEnd, _ host: isolated some MailHost) {
        guard var phone = self.air?.phones[peer] else { return }
        let session = self.air?.sessions.removeValue(forKey: peer)
        if let id = session?.handshake?.proven?.id, session?.isOver == false { self.went(id, host) }
        (phone.isConnected, phone.id) = (false, nil)
        self.air?.phones[peer] = phone
        host.publish(.disconnected(phone, end))
        guard self.air?.unheard.remove(peer) != nil else { return }
        self.air?.phones[peer] = nil
        host.publish(.lost(phone))
    }

    /// Returns the message in the air to the server. Another connection to the same contact continues.
    private func went(_ id: WhisperID, _ host: isolated some MailHost) {
        if let mail = self.air?.path.went(id) { host.outbox.bringBack(mail, host) }
        if self.air?.peer(of: id) != nil { self.air?.path.came(id) }
    }

    private func forgetPhones(_ host: isolated some MailHost) {
        for peer in (self.air?.sessions ?? [:]).keys { self.disconnected(peer, .lost, host) }
        self.air?.phones = [:]
        self.air?.unheard = []
    }

    private func ended(_ number: Int, _ host: isolated some MailHost) {
        guard let air, air.number == number else { return }
        self.forgetPhones(host)
        self.air = nil
        if air.radio == .on || air.radio == .denied { host.publish(.radio(.off)) }
        host.pump()
    }

    // MARK: Words

    private func take(_ bytes: [UInt8], from peer: NearbyPeer, _ host: isolated some MailHost) {
        guard let verdict = self.air?.sessions[peer]?.handshake?.take(bytes) else { return self.hangUp(peer, host) }
        host.withStore {
            switch verdict {
            case .wait: break
            case .said(let hello):
                switch try self.answer(to: hello) {
                case .proof:
                    guard let proof = self.air?.sessions[peer]?.handshake?.proof else { return self.hangUp(peer, host) }
                    _ = self.air?.send(.bytes(proof), to: peer)
                case .silence: break
                case .refuse: self.hangUp(peer, host)
                }
            case .proven(let hello): try self.came(hello, peer, host)
            case .from(let hello, .message(let message)): try self.take(message, from: hello, at: peer, host)
            case .from(_, .receipt(let receipt, _)):
                host.outbox.progress(
                    receipt.id, receipt.status == .read ? .read : .delivered, from: receipt.from, host)
            case .from: break
            case .refuse: self.hangUp(peer, host)
            }
        }
    }

    private enum Answer { case proof, silence, refuse }

    /// Our answer to a phone's hello. Any phone can send it: before its proof there is no alarm.
    private func answer(to hello: NearbyHello) throws(ClientStoreError) -> Answer {
        guard hello.keys.belong(to: hello.id) else { return .refuse }
        guard let contact = try self.store.contacts.contact(hello.id) else { return .proof }
        if contact.isBlocked { return .refuse }
        return contact.keys == hello.keys ? .proof : .silence
    }

    private func came(
        _ hello: NearbyHello, _ peer: NearbyPeer, _ host: isolated some MailHost
    ) throws(ClientStoreError) {
        let id = hello.id
        if let contact = try self.store.contacts.contact(id) {
            // The contact was blocked after its hello.
            if contact.isBlocked { return self.hangUp(peer, host) }
            guard contact.keys == hello.keys else {
                host.publish(.alarm(.changedKeys(of: id)))
                return self.hangUp(peer, host)
            }
        }
        let count = (self.air?.provenCount ?? 0) + 1
        self.air?.provenCount = count
        self.air?.sessions[peer]?.provenAs = count
        self.air?.phones[peer]?.id = id
        self.air?.path.came(id)
        if let phone = self.air?.phones[peer] { host.publish(.known(phone)) }
    }

    // MARK: Our mail

    /// Sends all messages that may go over the air now.
    func pump(_ host: isolated some MailHost) throws(ClientStoreError) {
        guard self.air != nil else { return }
        for contact in self.contacts {
            guard let peer = self.air?.peer(of: contact) else { continue }
            if let id = self.air?.path.inTheAir(to: contact), !host.outbox.isWaiting(id) {
                self.air?.path.settled(id, to: contact)
            }
            try self.sendNext(to: contact, at: peer, host)
            try self.sendReadMarks(to: contact, at: peer)
        }
        self.air?.timer.wake(ifBefore: self.air?.nextWake)
    }

    private func sendNext(
        to contact: WhisperID, at peer: NearbyPeer, _ host: isolated some MailHost
    ) throws(ClientStoreError) {
        let waiting = host.outbox.waiting(for: contact, limit: NearbyLimits.messagesLookedAtMax)
        guard !waiting.isEmpty else { return }
        let next = try self.air?.path.next(
            to: contact, of: waiting, at: .now,
            standing: { id throws(ClientStoreError) in try host.outbox.standing(of: id) ?? .serverAlone })
        guard let id = next ?? nil else { return }
        guard let bytes = try host.outbox.sealedForAir(id, to: contact, host) else {
            self.air?.path.settled(id, to: contact)
            return
        }
        _ = self.air?.send(.bytes(bytes), to: peer, .message(id, contact))
    }

    /// Sends read marks to a connected contact. A mark that does not arrive stays pending.
    private func sendReadMarks(to contact: WhisperID, at peer: NearbyPeer) throws(ClientStoreError) {
        guard let session = self.air?.sessions[peer], session.marks.isFree(at: .now) else { return }
        let owed = try self.store.messages.owedReceipts(to: contact, limit: NearbyLimits.readMarksAtOnceMax)
        guard !owed.isEmpty, let handshake = session.handshake, handshake.proven != nil else { return }
        self.air?.sessions[peer]?.marks.send(owed)
        for receipt in owed {
            guard let word = handshake.receipt(receipt.id, .read) else { return }
            _ = self.air?.send(.bytes(word), to: peer, .mark(receipt, peer))
        }
    }

    private func sent(_ token: UInt64, arrived: Bool, _ host: isolated some MailHost) {
        guard let parcel = self.air?.parcels.removeValue(forKey: token) else { return }
        switch parcel {
        case .message(let id, let contact):
            guard !arrived else {
                self.air?.path.handedOver(id, to: contact, at: .now)
                return
            }
            let wasInTheAir = self.air?.path.failed(id, to: contact, at: .now, hasServer: host.isOnline)
            if wasInTheAir == true { host.outbox.bringBack(id, host) }
        case .mark(let receipt, let peer):
            self.air?.sessions[peer]?.marks.sent(receipt, arrived: arrived, at: .now)
            guard arrived else { return }
            host.withStore { try self.store.messages.receiptsArrived([receipt]) }
        case .text: host.publish(.sent(token, arrived: arrived))
        }
    }

    // MARK: Their mail

    /// A phone nearby may send only mail of its own identity. Strangers are pinned with the keys that they have proven.
    private func take(
        _ message: MessageReceived, from hello: NearbyHello, at peer: NearbyPeer, _ host: isolated some MailHost
    ) throws(ClientStoreError) {
        let envelope = message.envelope
        guard let own = host.id, envelope.to == own, envelope.from == hello.id, envelope.groupID == nil else {
            return self.logger.warning("a phone nearby sent mail that is none of theirs; it was dropped")
        }
        var contact = try self.store.contacts.contact(hello.id)
        if contact == nil {
            // Without our receipt the sender uses the server.
            guard SealedMessage(envelope).isSigned(by: hello.keys), self.air?.gate.letsIn(at: .now) == true else {
                return
            }
            contact = try host.contacts.pinStranger(hello.id, hello.keys, host)
            guard contact != nil else { return }
        }
        if contact?.isStranger == true {
            guard self.air?.gate.takesMessage(of: hello.id) == true else { return }
        }
        for receipt in host.keep([message]) {
            guard let word = self.air?.sessions[peer]?.handshake?.receipt(receipt.id, .delivered) else { return }
            _ = self.air?.send(.bytes(word), to: peer)
        }
    }

    // MARK: Time

    private func keepTime(of number: Int, _ host: isolated some MailHost) async {
        while !Task.isCancelled, self.air?.number == number {
            await self.air?.timer.sleep(until: self.air?.nextWake)
            self.tick(host)
        }
    }

    private func tick(_ host: isolated some MailHost) {
        guard let air else { return }
        for (peer, session) in air.sessions where !session.isOver && session.provenBy <= .now {
            guard let handshake = session.handshake, handshake.proven == nil else { continue }
            self.hangUp(peer, host)
        }
        for peer in air.sessions.keys { self.air?.sessions[peer]?.marks.timerFired(at: .now) }
        let late = self.air?.path.timerFired(at: .now, hasServer: host.isOnline) ?? []
        for id in late { host.outbox.bringBack(id, host) }
        host.pump()
    }
}

/// A connection.
private struct Session {
    /// `nil` for a bare phone.
    var handshake: NearbyHandshake?
    /// The deadline of the handshake.
    var provenBy: ContinuousClock.Instant
    /// The order of proofs. If an identity has several connections, the last proven one counts.
    var provenAs = 0
    /// The connection is being closed, and its values are ignored.
    var isOver = false
    var marks = ReadMarkPath()
}

/// The content of a value that the link sends.
private enum Parcel {
    case message(UUIDText, WhisperID)
    case mark(OwedReceipt, NearbyPeer)
    case text
}

/// One link: phones around, connections to them, and values in the air.
private struct Air {
    /// Events of an earlier link are ignored.
    let number: Int
    let link: any NearbyLink
    let title: String
    var radio = RadioState.off
    var phones: [NearbyPeer: NearbyPhone] = [:]
    /// Connected phones whose advertising is not heard.
    var unheard: Set<NearbyPeer> = []
    var sessions: [NearbyPeer: Session] = [:]
    var provenCount = 0
    var gate = StrangerGate()
    var path = EnvelopePath<UUIDText>()
    var parcels: [UInt64: Parcel] = [:]
    var tokens: UInt64 = 0
    var life: Task<Void, Never>?
    let timer = WakeTimer()

    init(_ number: Int, _ link: any NearbyLink, title: String) {
        self.number = number
        self.link = link
        self.title = title
    }

    /// The connection to an identity that was proven.
    func peer(of id: WhisperID) -> NearbyPeer? {
        self.sessions.filter { $0.value.handshake?.proven?.id == id && !$0.value.isOver }
            .max { $0.value.provenAs < $1.value.provenAs }?.key
    }

    var nextWake: ContinuousClock.Instant? {
        let handshakes = self.sessions.values.filter {
            $0.handshake != nil && $0.handshake?.proven == nil && !$0.isOver
        }
        let marks = self.sessions.values.filter { !$0.isOver }.compactMap(\.marks.nextWake)
        return (handshakes.map(\.provenBy) + marks + [self.path.nextWake].compactMap { $0 }).min()
    }

    mutating func send(_ value: NearbyValue, to peer: NearbyPeer, _ parcel: Parcel? = nil) -> UInt64 {
        self.tokens += 1
        self.parcels[self.tokens] = parcel
        self.link.send(value, to: peer, token: self.tokens)
        return self.tokens
    }
}

extension MailHost {
    fileprivate func publish(_ news: NearbyNews) { self.publish(.passing(.nearby(news))) }
}
