import Contract

/// Mail over the air: sealed, signed, verified and stored like mail of the server.
extension WhisperClient {
    /// Sends all messages that may go over the air now.
    func pumpNearby() throws(ClientStoreError) {
        guard let contacts = self.nearby?.path.contacts else { return }
        for contact in contacts {
            guard let peer = self.nearby?.peer(of: contact) else { continue }
            if let id = self.nearby?.path.inTheAir(to: contact), !self.outbox.isWaiting(id) {
                self.nearby?.path.settled(id, to: contact)
            }
            try self.sendNext(to: contact, at: peer)
            try self.sendReadMarks(to: contact, at: peer)
        }
        self.rearmNearby()
    }

    private func sendNext(to contact: WhisperID, at peer: NearbyPeer) throws(ClientStoreError) {
        let waiting = self.outbox.waiting(for: contact, limit: NearbyLimits.messagesLookedAtMax)
        guard !waiting.isEmpty else { return }
        let next = try self.nearby?.path.next(
            to: contact, of: waiting, at: .now,
            standing: { id throws(ClientStoreError) in
                // A message that was deleted meanwhile has no mail: the server's path removes it.
                guard let mail = try self.store.mail(id), mail.file == nil else { return .serverAlone }
                return self.outbox.isUnderWay(id) ? .underWay : .free
            })
        guard let id = next ?? nil else { return }
        guard let from = self.id, let mail = try self.store.mail(id), let reader = try self.store.contact(contact),
            self.outbox.tryElsewhere(id)
        else {
            self.nearby?.path.settled(id, to: contact)
            return
        }
        var time = mail.signedAt ?? self.serverNow
        if mail.signedAt == nil { try self.store.sign(id, at: time) }
        // The store keeps the earlier time, by which the server may know the message. The copy for the air gets the
        // present time, so that the receiver does not take it for old mail.
        if time < self.serverNow - NearbyLimits.signedAgeMax { time = self.serverNow }
        do {
            let sealed = try SealedMessage(
                mail.body, messageID: "\(mail.id)", from: from, to: contact, reader: reader.keys, timestamp: time,
                nonce: Sodium.random(Limits.nonceBytes), keys: self.keys)
            let bytes = try NearbyWord.bytes(of: sealed, type: mail.messageType)
            if let message = mail.message { self.publish(.changed(message.moved(to: .sending))) }
            _ = self.nearby?.send(.bytes(bytes), to: peer, .message(id, contact))
        } catch is PayloadViolation {
            self.apply(self.outbox.unsendable(id, .rejected))
        } catch {
            self.apply(self.outbox.unsendable(id, .badKey))
        }
    }

    /// Gives a message back to the server's path, as `queued`.
    func bringBack(_ id: UUIDText) {
        self.outbox.cameBack(id)
        guard self.outbox.isWaiting(id) else { return }
        do {
            if let message = try self.store.outgoing(id) { self.publish(.changed(message)) }
        } catch {
            self.storeFailed(error)
        }
    }

    func sent(_ token: UInt64, arrived: Bool) {
        guard let parcel = self.nearby?.parcels.removeValue(forKey: token) else { return }
        switch parcel {
        case .message(let id, let contact):
            guard !arrived else {
                self.nearby?.path.handedOver(id, to: contact, at: .now)
                return
            }
            let wasInTheAir = self.nearby?.path.failed(id, to: contact, at: .now, hasServer: self.isOnline)
            if wasInTheAir == true { self.bringBack(id) }
        case .mark(let receipt, let peer):
            self.nearby?.sessions[peer]?.marks.sent(receipt, arrived: arrived, at: .now)
            guard arrived else { return }
            do { try self.store.receiptsArrived([receipt]) } catch { self.storeFailed(error) }
        case .text: self.publish(.passing(.nearby(.sent(token, arrived: arrived))))
        }
    }

    // MARK: Theirs

    /// A phone nearby may send only mail of its own identity. Strangers are pinned with the keys that they have proven.
    func take(_ message: MessageReceived, from hello: NearbyHello, at peer: NearbyPeer) throws(ClientStoreError) {
        let envelope = message.envelope
        guard let own = self.id, envelope.to == own, envelope.from == hello.id, envelope.groupID == nil else {
            return self.logger.warning("a phone nearby sent mail that is none of theirs; it was dropped")
        }
        var contact = try self.store.contact(hello.id)
        if contact == nil {
            // Without our receipt the sender uses the server.
            guard SealedMessage(envelope).isSigned(by: hello.keys), self.nearby?.gate.letsIn(at: .now) == true else {
                return
            }
            do throws(ContactError) {
                let stranger = try self.pin(
                    hello.keys, of: hello.id, name: nil, isBanned: nil, isStranger: true, isNews: true)
                self.publish(.request(stranger))
                contact = stranger
            } catch .store(let error) {
                throw error
            } catch {
                return
            }
        }
        if contact?.isStranger == true {
            guard self.nearby?.gate.takesMessage(of: hello.id) == true else { return }
        }
        for receipt in self.keep([message]) {
            guard let word = self.nearby?.sessions[peer]?.handshake?.receipt(receipt.id, .delivered) else { return }
            _ = self.nearby?.send(.bytes(word), to: peer)
        }
    }

    /// Sends read marks to a connected contact. A mark that does not arrive stays pending.
    private func sendReadMarks(to contact: WhisperID, at peer: NearbyPeer) throws(ClientStoreError) {
        guard let session = self.nearby?.sessions[peer], session.marks.isFree(at: .now) else { return }
        let owed = try self.store.owedReceipts(to: contact, limit: NearbyLimits.readMarksAtOnceMax)
        guard !owed.isEmpty, let handshake = session.handshake, handshake.proven != nil else { return }
        self.nearby?.sessions[peer]?.marks.send(owed)
        for receipt in owed {
            guard let word = handshake.receipt(receipt.id, .read) else { return }
            _ = self.nearby?.send(.bytes(word), to: peer, .mark(receipt, peer))
        }
    }
}
