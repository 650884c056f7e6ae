package import Contract

/// Messages that go over the air in place of the server.
extension WhisperClient: NearbyHost {
    package func waiting(for contact: WhisperID, limit: Int) -> [UUIDText] {
        self.outbox.waiting(for: contact, limit: limit)
    }

    package func isWaiting(_ id: UUIDText) -> Bool { self.outbox.isWaiting(id) }

    package func standing(of id: UUIDText) throws(ClientStoreError) -> EnvelopePath<UUIDText>.Standing? {
        guard self.outbox.isWaiting(id) else { return nil }
        // A message that was deleted meanwhile has no mail: the server's path removes it.
        guard let mail = try self.store.changes.mail(id), mail.file == nil else { return .serverAlone }
        return self.outbox.isUnderWay(id) ? .underWay : .free
    }

    package func sealedForAir(_ id: UUIDText, to contact: WhisperID) throws(ClientStoreError) -> [UInt8]? {
        guard let from = self.id, let mail = try self.store.changes.mail(id),
            let reader = try self.store.contacts.contact(contact),
            self.outbox.tryElsewhere(id)
        else { return nil }
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
            return bytes
        } catch is PayloadViolation {
            self.apply(self.outbox.unsendable(id, .rejected))
        } catch {
            self.apply(self.outbox.unsendable(id, .badKey))
        }
        return nil
    }

    package func bringBack(_ id: UUIDText) {
        self.outbox.cameBack(id)
        guard self.outbox.isWaiting(id) else { return }
        do {
            if let message = try self.store.messages.outgoing(id) { self.publish(.changed(message)) }
        } catch {
            self.storeFailed(error)
        }
    }

    package func pinStranger(_ id: WhisperID, _ keys: PublicKeys) throws(ClientStoreError) -> Contact? {
        do throws(ContactError) {
            let stranger = try self.contacts.pin(
                keys, of: id, name: nil, isBanned: nil, isStranger: true, isNews: true, self)
            self.publish(.request(stranger))
            return stranger
        } catch .store(let error) {
            throw error
        } catch {
            return nil
        }
    }
}
