package import Contract

/// People and their pinned keys.
package struct Contacts: Sendable {
    let store: ClientStore
    let server: any ServerLink

    /// Fetches a user's keys, checks that they belong to the id, and pins them. For a known contact it checks that the
    /// keys are unchanged, and takes the new name.
    package func add(
        _ id: WhisperID, name: String?, _ host: isolated some MailHost
    ) async throws(ContactError) -> Contact {
        guard id != host.id else { throw .isSelf }
        // Keys proven over a nearby connection need no server.
        if let keys = host.nearby.keys(of: id) {
            return try self.pin(keys, of: id, name: name, isBanned: nil, isStranger: false, isNews: false, host)
        }
        return try await self.fetchAndPin(id, name: name, host)
    }

    /// Adds the person of a link. Nothing is pinned unless the keys are those that the link vouches for; a link that has keys needs no
    /// server. The caller has checked that the link is of this server.
    /// - Parameter isScanned: the link was read off the other person's screen, which is as good as a safety number.
    package func add(
        _ link: ContactLink, name: String?, isScanned: Bool, _ host: isolated some MailHost
    ) async throws(ContactError) -> Contact {
        guard link.id != host.id else { throw .isSelf }
        var contact: Contact
        if let keys = link.keys ?? host.nearby.keys(of: link.id) {
            try self.check(keys, fit: link, host)
            contact = try self.pin(
                keys, of: link.id, name: name, isBanned: nil, isStranger: false, isNews: false, host)
        } else {
            contact = try await self.fetchAndPin(link.id, name: name, vouchedBy: link, host)
        }
        do {
            let change = try self.set(isScanned ? .scanned : .linked, link.id, host)
            if case .changed(let vouchedFor) = change { contact = vouchedFor }
        } catch {
            throw .store(error)
        }
        return contact
    }

    // MARK: Changes

    package func update(
        _ id: WhisperID, _ update: ContactUpdate, _ host: isolated some MailHost
    ) throws(ClientStoreError) -> ContactChange {
        self.told(try self.store.contacts.update(id, update), host)
    }

    /// Takes no more mail of this person, and sends none: what waits is given up. Or takes it again.
    package func set(
        isBlocked: Bool, _ id: WhisperID, _ host: isolated some MailHost
    ) throws(ClientStoreError) -> ContactChange {
        let change = self.told(try self.store.contacts.set(isBlocked: isBlocked, id), host)
        if isBlocked, case .changed = change {
            _ = try host.outbox.cancel(in: .direct(id), host)
            host.nearby.hangUp(on: id, host)
        }
        return change
    }

    package func set(
        _ verification: Verification?, _ id: WhisperID, _ host: isolated some MailHost
    ) throws(ClientStoreError) -> ContactChange {
        self.told(try self.store.contacts.set(verification, id), host)
    }

    package func acceptRequest(
        of id: WhisperID, _ host: isolated some MailHost
    ) throws(ClientStoreError) -> ContactChange {
        self.told(try self.store.contacts.acceptRequest(of: id), host)
    }

    /// - Returns: whether there was such a request.
    package func rejectRequest(of id: WhisperID, _ host: isolated some MailHost) throws(ClientStoreError) -> Bool {
        defer { host.disappearing.look(host) }
        return try self.store.contacts.rejectRequest(of: id)
    }

    /// Removes a contact, and cancels the messages that wait for it.
    /// - Returns: whether there was such a contact.
    package func remove(_ id: WhisperID, _ host: isolated some MailHost) throws(ClientStoreError) -> Bool {
        guard try self.store.contacts.remove(id, at: host.serverNow) else { return false }
        _ = try host.outbox.cancel(in: .direct(id), host)
        host.backup.wake()
        return true
    }

    /// The server does not know this contact any more. Messages that wait for them are given up; keys and history stay.
    func left(_ id: WhisperID, _ host: isolated some MailHost) throws(ClientStoreError) {
        guard let contact = try self.store.contacts.set(id, isGone: true) else { return }
        host.publish(.contact(contact))
        _ = try host.outbox.cancel(in: .direct(id), because: .noSuchPerson, host)
    }

    /// They have written: a server that was restored, or lied, had not known them for a while.
    func returned(_ contact: Contact, _ host: isolated some MailHost) throws(ClientStoreError) {
        guard contact.isGone, let back = try self.store.contacts.set(contact.id, isGone: false) else { return }
        host.publish(.contact(back))
    }

    private func told(_ change: ContactChange, _ host: isolated some MailHost) -> ContactChange {
        if case .changed(let contact) = change {
            host.publish(.contact(contact))
            host.backup.wake()
            // Read marks may be owed now.
            host.pump()
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
        vouchedBy link: ContactLink? = nil, _ host: isolated some MailHost
    ) async throws(ContactError) -> Contact {
        let answer: KeyAnswer
        do throws(ContactError) {
            answer = try await self.fetchKeys(of: id, token: host.token)
        } catch {
            if case .noSuchPerson = error { host.withStore { try self.left(id, host) } }
            throw error
        }
        guard answer.id == id, answer.keys.belong(to: id) else {
            host.publish(.alarm(.foreignKeys(of: id)))
            throw .foreignKeys
        }
        if let link { try self.check(answer.keys, fit: link, host) }
        return try self.pin(
            answer.keys, of: id, name: name, isBanned: answer.isBanned, isStranger: isStranger, isNews: isNews, host)
    }

    private func check(
        _ keys: PublicKeys, fit link: ContactLink, _ host: isolated some MailHost
    ) throws(ContactError) {
        let known = host.withStore { try self.store.contacts.contact(link.id) }
        if let known = known ?? nil, !known.isStranger, !link.fits(known.keys) {
            host.publish(.alarm(.changedKeys(of: link.id)))
            throw .changedKeys
        }
        guard !link.fits(keys) else { return }
        host.publish(.alarm(.foreignKeys(of: link.id)))
        throw .foreignKeys
    }

    /// - Parameter isBanned: `nil` if nobody has said so; then what is known stays.
    func pin(
        _ keys: PublicKeys, of id: WhisperID, name: String?, isBanned: Bool?, isStranger: Bool, isNews: Bool,
        _ host: isolated some MailHost
    ) throws(ContactError) -> Contact {
        let pinning: Pinning
        do {
            let known = try self.store.contacts.contact(id)
            pinning = try self.store.contacts.pin(
                keys, of: id, name: name, isBanned: isBanned ?? known?.isBanned ?? false,
                isGone: isBanned == nil && known?.isGone == true, isStranger: isStranger, isNews: isNews,
                at: host.serverNow)
        } catch {
            throw .store(error)
        }
        switch pinning {
        case .pinned(let contact):
            host.backup.wake()
            do { try host.outbox.queueCopies(to: id) } catch { throw .store(error) }
            return contact
        case .nameTaken: throw .nameTaken
        case .changedKeys:
            host.publish(.alarm(.changedKeys(of: id)))
            throw .changedKeys
        }
    }

    /// Pins the keys that a stranger nearby has proven.
    /// - Returns: `nil` if other keys of this identity are pinned.
    func pinStranger(
        _ id: WhisperID, _ keys: PublicKeys, _ host: isolated some MailHost
    ) throws(ClientStoreError) -> Contact? {
        do throws(ContactError) {
            let stranger = try self.pin(keys, of: id, name: nil, isBanned: nil, isStranger: true, isNews: true, host)
            host.publish(.request(stranger))
            return stranger
        } catch .store(let error) {
            throw error
        } catch {
            return nil
        }
    }

    private func fetchKeys(of id: WhisperID, token: StoredSession?) async throws(ContactError) -> KeyAnswer {
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
