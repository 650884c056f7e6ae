package import Contract

/// People and their pinned keys.
extension WhisperClient {
    /// Fetches a user's keys, checks that they belong to the id, and pins them. For a known contact it checks that the
    /// keys are unchanged, and takes the new name.
    package func addContact(_ id: WhisperID, name: String?) async throws(ContactError) -> Contact {
        guard id != self.id else { throw .isSelf }
        // Keys proven over a nearby connection need no server.
        if let keys = self.nearby.keys(of: id) {
            return try self.pin(keys, of: id, name: name, isBanned: nil, isStranger: false, isNews: false)
        }
        return try await self.fetchAndPin(id, name: name)
    }

    /// Adds the person of a link. Nothing is pinned unless the keys are those that the link vouches for; a link that has keys needs no
    /// server. The caller has checked that the link is of this server.
    /// - Parameter isScanned: the link was read off the other person's screen, which is as good as a safety number.
    package func addContact(
        _ link: ContactLink, name: String?, isScanned: Bool
    ) async throws(ContactError) -> Contact {
        guard link.id != self.id else { throw .isSelf }
        var contact: Contact
        if let keys = link.keys ?? self.nearby.keys(of: link.id) {
            try self.check(keys, fit: link)
            contact = try self.pin(keys, of: link.id, name: name, isBanned: nil, isStranger: false, isNews: false)
        } else {
            contact = try await self.fetchAndPin(link.id, name: name, vouchedBy: link)
        }
        guard isScanned else { return contact }
        do {
            if case .changed(let verified) = try self.set(isVerified: true, link.id) { contact = verified }
        } catch {
            throw .store(error)
        }
        return contact
    }

    package func contacts() throws(ClientStoreError) -> [Contact] {
        try self.store.contacts.contacts()
    }

    package func unread(with peer: WhisperID, limit: Int) throws(ClientStoreError) -> [Message] {
        try self.store.messages.unread(with: peer, limit: limit)
    }

    // MARK: Changes

    package func update(_ id: WhisperID, _ update: ContactUpdate) throws(ClientStoreError) -> ContactChange {
        self.told(try self.store.contacts.update(id, update))
    }

    /// Takes no more mail of this person, and sends none: what waits is given up. Or takes it again.
    package func set(isBlocked: Bool, _ id: WhisperID) throws(ClientStoreError) -> ContactChange {
        let change = self.told(try self.store.contacts.set(isBlocked: isBlocked, id))
        if isBlocked, case .changed = change {
            _ = try self.cancel(to: id)
            self.nearby.hangUp(on: id, self)
        }
        return change
    }

    package func set(isVerified: Bool, _ id: WhisperID) throws(ClientStoreError) -> ContactChange {
        self.told(try self.store.contacts.set(isVerified: isVerified, id))
    }

    package func acceptRequest(of id: WhisperID) throws(ClientStoreError) -> ContactChange {
        self.told(try self.store.contacts.acceptRequest(of: id))
    }

    /// - Returns: whether there was such a request.
    package func rejectRequest(of id: WhisperID) throws(ClientStoreError) -> Bool {
        defer { self.disappearing.look(self) }
        return try self.store.contacts.rejectRequest(of: id)
    }

    /// Removes a contact, and cancels the messages that wait for it.
    /// - Returns: whether there was such a contact.
    package func removeContact(_ id: WhisperID) throws(ClientStoreError) -> Bool {
        guard try self.store.contacts.remove(id, at: self.serverNow) else { return false }
        _ = try self.cancel(to: id)
        self.backups?.yield()
        return true
    }

    private func told(_ change: ContactChange) -> ContactChange {
        if case .changed(let contact) = change {
            self.publish(.contact(contact))
            self.backups?.yield()
            // Read marks may be owed now.
            self.pump()
        }
        return change
    }

    // MARK: Keys

    /// - Parameters:
    ///   - isStranger: nobody asked for them; mail of theirs came.
    ///   - isNews: the caller publishes whoever is new.
    ///   - link: what else vouches for the keys.
    func fetchAndPin(
        _ id: WhisperID, name: String?, isStranger: Bool = false, isNews: Bool = false,
        vouchedBy link: ContactLink? = nil
    ) async throws(ContactError) -> Contact {
        let answer = try await self.fetchKeys(of: id)
        guard answer.id == id, answer.keys.belong(to: id) else {
            self.publish(.alarm(.foreignKeys(of: id)))
            throw .foreignKeys
        }
        if let link { try self.check(answer.keys, fit: link) }
        return try self.pin(
            answer.keys, of: id, name: name, isBanned: answer.isBanned, isStranger: isStranger, isNews: isNews)
    }

    private func check(_ keys: PublicKeys, fit link: ContactLink) throws(ContactError) {
        guard !link.fits(keys) else { return }
        self.publish(.alarm(.foreignKeys(of: link.id)))
        throw .foreignKeys
    }

    /// - Parameter isBanned: `nil` if nobody has said so; then what is known stays.
    func pin(
        _ keys: PublicKeys, of id: WhisperID, name: String?, isBanned: Bool?, isStranger: Bool, isNews: Bool
    ) throws(ContactError) -> Contact {
        let pinning: Pinning
        do {
            let known = try self.store.contacts.contact(id)
            pinning = try self.store.contacts.pin(
                keys, of: id, name: name, isBanned: isBanned ?? known?.isBanned ?? false, isStranger: isStranger,
                isNews: isNews, at: self.serverNow)
        } catch {
            throw .store(error)
        }
        switch pinning {
        case .pinned(let contact):
            self.backups?.yield()
            do { try self.queueDeliveries(to: id) } catch { throw .store(error) }
            return contact
        case .nameTaken: throw .nameTaken
        case .changedKeys:
            self.publish(.alarm(.changedKeys(of: id)))
            throw .changedKeys
        }
    }

    private func fetchKeys(of id: WhisperID) async throws(ContactError) -> KeyAnswer {
        guard let token else { throw .offline }
        let answer: HTTPAnswer
        do {
            answer = try await self.server.get("/users/\(id)/keys", bearer: token.token)
        } catch {
            throw .unreachable(error)
        }
        switch answer.status {
        case 200:
            guard let keys = KeyAnswer(body: answer.body) else { throw .server(status: 0) }
            return keys
        case 404: throw .noSuchPerson
        case 401: throw .offline
        default: throw .server(status: answer.status)
        }
    }
}
