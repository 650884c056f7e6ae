package import Contract

/// Our messages to groups: one sealed copy for each member, each sent, accepted and repeated by itself.
extension WhisperClient {
    /// Takes a message to a group: it is stored when this returns, with a copy for each member.
    /// - Parameters: as for a person.
    package func send(
        _ text: String, toGroup group: String, id: UUIDText? = nil, replyTo: MessageReference? = nil,
        expires: Int64? = nil, mentions: [Mention] = [], poll: Poll? = nil
    ) throws(SendError) -> Message {
        let bytes = text.utf8.count
        guard bytes > 0 else { throw .empty }
        guard bytes <= ClientLimits.textBytesMax else { throw .tooLong(bytes: bytes) }
        let (group, ownID) = try self.store.groups.writable(group, as: self.id)
        do {
            if let id, let known = try self.store.messages.outgoing(id) { return known }
            var message = Message(
                id: id ?? .random(), peer: ownID, groupID: group.id, direction: .outgoing(.queued),
                content: .text(text), time: self.serverNow, replyTo: replyTo)
            (message.mentions, message.poll) = (mentions, poll)
            message.expires = try self.store.disappearing.seconds(of: message, chosen: expires)
            let (stored, ready) = try self.store.deliveries.queue(message, toGroup: group)
            self.publish(.changed(stored))
            self.queue(ready)
            return stored
        } catch {
            throw .store(error)
        }
    }

    /// Changes a message of a group here and, as soon as the server is there, for all its members.
    /// - Returns: the message as it stands now.
    package func change(
        _ target: MessageReference, inGroup group: String, _ kind: MessageChange.Kind
    ) throws(ChangeError) -> Message {
        try Self.check(kind)
        let (place, ownID): (Group, WhisperID)
        do { (place, ownID) = try self.store.groups.writable(group, as: self.id) } catch { throw .send(error) }
        let result: Result<(message: Message, isNew: Bool), ChangeRefusal>
        let id = UUIDText.random()
        do {
            result = try self.store.changes.queue(
                kind, id: id, of: target, in: .group(place.id), ownID: ownID, at: self.serverNow)
            guard case .success((_, true)) = result else { return try result.map(\.message).get() }
            let message = try result.map(\.message).get()
            self.publish(.changed(message))
            self.queue(try self.store.deliveries.queuedDeliveries(of: id))
            return message
        } catch let error as ChangeRefusal {
            throw .refused(error)
        } catch let error as ClientStoreError {
            throw .send(.store(error))
        } catch {
            throw .refused(.notFound)
        }
    }

    /// Sends again what has failed, for those members alone for whom it has, `ClientLimits.retriesMax` messages at a time.
    /// - Returns: the messages that are queued again.
    package func retry(inGroup group: String) throws(ClientStoreError) -> [Message] {
        var messages = try self.store.transfers.requeueFailedUploads(inGroup: group)
        let (others, ready) = try self.store.deliveries.requeueFailed(inGroup: group, limit: ClientLimits.retriesMax)
        messages += others
        for message in messages { self.publish(.changed(message)) }
        self.transfers.wake()
        self.queue(ready)
        return messages
    }

    /// Cancels the waiting copies in this group. Copies under way are still sent.
    /// - Returns: the messages with a cancelled copy or upload.
    package func cancel(inGroup group: String) throws(ClientStoreError) -> [Message] {
        var changed: [UUIDText: Message] = [:]
        for copy in try self.store.deliveries.waitingDeliveries(inGroup: group) where !self.groupOutbox.isUnderWay(copy)
        {
            self.groupOutbox.settled(copy)
            if let message = try self.store.deliveries.set(.failed(.cancelled), of: copy) { changed[copy.id] = message }
        }
        for message in try self.transfers.cancelUploads(in: .group(group)) { changed[message.id] = message }
        for message in changed.values { self.publish(.changed(message)) }
        return Array(changed.values)
    }

    // MARK: Copies

    /// Copies for whose readers there are no keys yet go when there are.
    func queue(_ copies: [GroupDeliveryID]) {
        for copy in copies { self.groupOutbox.queued(copy, to: copy.member) }
        self.groupWishes?.yield()
        self.pump()
    }

    /// The keys of somebody are here: what waited for them goes.
    package func queueDeliveries(to member: WhisperID) throws(ClientStoreError) {
        for (copy, attempts) in try self.store.deliveries.queuedDeliveries(to: member) {
            self.groupOutbox.queued(copy, to: copy.member, attempts: attempts)
        }
    }

    func pumpGroups() throws(ClientStoreError) {
        for copy in self.groupOutbox.due(at: .now) { try self.sendNow(copy) }
    }

    private func sendNow(_ copy: GroupDeliveryID) throws(ClientStoreError) {
        guard let from = self.id, self.token != nil else {
            return self.apply(self.groupOutbox.unsendable(copy, .rejected))
        }
        // It goes when the person here has seen whom it is for.
        if try self.store.newcomers.isHeld(copy) { return self.groupOutbox.settled(copy) }
        guard let mail = try self.store.deliveries.mail(copy) else {
            return self.apply(self.groupOutbox.unsendable(copy, .cancelled))
        }
        guard let contact = try self.store.contacts.contact(copy.member) else {
            return self.apply(self.groupOutbox.unsendable(copy, .rejected))
        }
        let time = mail.signedAt ?? self.serverNow
        if mail.signedAt == nil { try self.store.deliveries.sign(copy, at: time) }
        let envelope: SignedEnvelope
        do {
            let sealed = try SealedMessage(
                mail.body, messageID: "\(copy.id)", from: from, to: copy.member, groupID: mail.groupID,
                reader: contact.keys, timestamp: time, nonce: Sodium.random(Limits.nonceBytes), keys: self.keys)
            let file = mail.file.flatMap { $0.pointer(to: contact.keys, keys: self.keys) }
            envelope = try sealed.envelope(mail.messageType, file: file)
        } catch is PayloadViolation {
            return self.apply(self.groupOutbox.unsendable(copy, .rejected))
        } catch {
            return self.apply(self.groupOutbox.unsendable(copy, .badKey))
        }
        self.write(GroupSendMessage(envelope), .copy(copy))
    }

    func apply(_ verdict: OutboxMachine<GroupDeliveryID>.Verdict) {
        do {
            switch verdict {
            case .signAnew(let copy, let attempts):
                try self.store.deliveries.sign(copy, at: nil)
                try self.move(copy, to: .queued, attempts: attempts)
            case .again(let copy, let attempts): try self.move(copy, to: .queued, attempts: attempts)
            case .giveUp(let copy, let reason): try self.move(copy, to: .failed(reason))
            case .ignore: break
            }
        } catch {
            self.storeFailed(error)
        }
    }

    func move(_ copy: GroupDeliveryID, to state: MessageState, attempts: Int? = nil) throws(ClientStoreError) {
        if let message = try self.store.deliveries.set(state, of: copy, attempts: attempts) {
            self.publish(.changed(message))
        }
    }

    /// The server says how one member's copy fares.
    func progress(_ copy: GroupDeliveryID, _ progress: MessageState.Progress) throws(ClientStoreError) {
        self.groupOutbox.settled(copy)
        if let message = try self.store.deliveries.advance(copy, progress) { self.moved(message) }
    }
}
