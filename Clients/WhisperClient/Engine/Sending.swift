package import Contract

/// Our messages: from the person to the peer's read mark.
extension WhisperClient {
    /// Takes a message: it is stored when this returns, and goes out now or when the server is back.
    /// - Parameters:
    ///   - id: of the caller's choice. A message that has it already is returned as it stands, and not sent again.
    ///   - replyTo: the message of the conversation that this one answers. It need not be here.
    ///   - expires: seconds after which it disappears. Without it the timer of the chat counts.
    ///   - mentions: they stand in the text (`Mention.areValid`).
    package func send(
        _ text: String, to recipient: WhisperID, id: UUIDText? = nil, replyTo: MessageReference? = nil,
        expires: Int64? = nil, mentions: [Mention] = [], poll: Poll? = nil
    ) throws(SendError) -> Message {
        let bytes = text.utf8.count
        guard bytes > 0 else { throw .empty }
        guard bytes <= ClientLimits.textBytesMax else { throw .tooLong(bytes: bytes) }
        guard recipient != self.id else { throw .toSelf }
        if let id {
            do {
                if let known = try self.store.messages.outgoing(id) { return known }
            } catch {
                throw .store(error)
            }
        }
        var message = Message(
            id: id ?? .random(), peer: recipient, groupID: nil, direction: .outgoing(.queued), content: .text(text),
            time: self.serverNow, replyTo: replyTo)
        (message.mentions, message.poll) = (mentions, poll)
        let contact = try self.store.contacts.writable(recipient)
        do {
            message.expires = try self.store.disappearing.seconds(of: message, chosen: expires)
            try self.store.messages.queue(message)
        } catch {
            throw .store(error)
        }
        if contact.isStranger { self.backup.wake() }
        self.outbox.queued(message.id, to: recipient)
        self.publish(.changed(message))
        self.pump()
        return message
    }

    /// Changes a message here, and sends the change to the peer as soon as there is a connection.
    /// - Parameter target: a message of the conversation with `peer`; ours, if it is edited or deleted.
    /// - Returns: the message as it stands now.
    package func change(
        _ target: MessageReference, with peer: WhisperID, _ kind: MessageChange.Kind
    ) throws(ChangeError) -> Message {
        try Self.check(kind)
        let contact: Contact
        do { contact = try self.store.contacts.writable(peer) } catch { throw .send(error) }
        // Nothing of ours is there before the first login.
        guard let ownID = self.id else { throw .refused(.notFound) }
        let id = UUIDText.random()
        let result: Result<(message: Message, isNew: Bool), ChangeRefusal>
        do {
            result = try self.store.changes.queue(
                kind, id: id, of: target, in: .direct(peer), ownID: ownID, at: self.serverNow)
        } catch {
            throw .send(.store(error))
        }
        switch result {
        case .failure(let refusal): throw .refused(refusal)
        case .success(let (message, isNew)):
            guard isNew else { return message }
            if contact.isStranger { self.backup.wake() }
            self.outbox.queued(id, to: peer)
            self.publish(.changed(message))
            self.pump()
            return message
        }
    }

    static func check(_ kind: MessageChange.Kind) throws(ChangeError) {
        if case .edit(let text, _) = kind {
            guard !text.isEmpty else { throw .send(.empty) }
            guard text.utf8.count <= ClientLimits.textBytesMax else { throw .send(.tooLong(bytes: text.utf8.count)) }
        }
        if case .react(let reaction) = kind, reaction.utf8.count > ClientLimits.reactionBytesMax {
            throw .send(.tooLong(bytes: reaction.utf8.count))
        }
    }

    /// Sends again what was given up, the oldest first, `ClientLimits.retriesMax` at a time. It comes after what waits
    /// already. The server takes a message once, however often it is sent.
    /// - Returns: the messages that are queued again. Changes are too.
    package func retry(to recipient: WhisperID) throws(ClientStoreError) -> [Message] {
        let (messages, changes) = try self.store.messages.requeueFailed(to: recipient, limit: ClientLimits.retriesMax)
        for message in messages {
            if message.attachment?.state == .complete || message.attachment == nil {
                self.outbox.queued(message.id, to: recipient)
            }
            self.publish(.changed(message))
        }
        self.transfers.wake()
        for change in changes { self.outbox.queued(change, to: recipient) }
        self.pump()
        return messages
    }

    /// Cancels the messages waiting for this recipient. A message under way is still sent.
    /// - Returns: the cancelled messages.
    package func cancel(to recipient: WhisperID) throws(ClientStoreError) -> [Message] {
        var messages = try self.store.messages.cancel(self.outbox.cancel(to: recipient))
        messages += try self.transfers.cancelUploads(in: .direct(recipient))
        for message in messages { self.publish(.changed(message)) }
        return messages
    }

    package func pump() {
        do { try self.nearby.pump(self) } catch { return self.storeFailed(error) }
        for id in self.outbox.due(at: .now) {
            do {
                try self.sendNow(id)
            } catch {
                return self.storeFailed(error)
            }
        }
        do { try self.pumpGroups() } catch { return self.storeFailed(error) }
        self.pumpReceipts()
        self.streams.pump(self)
        self.rearm()
    }

    private func sendNow(_ id: UUIDText) throws(ClientStoreError) {
        guard let from = self.id, self.token != nil else { return self.apply(self.outbox.unsendable(id, .rejected)) }
        guard let mail = try self.store.changes.mail(id) else {
            return self.apply(self.outbox.unsendable(id, .cancelled))
        }
        guard let contact = try self.store.contacts.contact(mail.to) else {
            return self.apply(self.outbox.unsendable(id, .rejected))
        }
        let time = mail.signedAt ?? self.serverNow
        if mail.signedAt == nil { try self.store.sign(id, at: time) }
        let envelope: SignedEnvelope
        do {
            // By its time the server knows what it has taken already: each attempt carries the same one.
            let sealed = try SealedMessage(
                mail.body, messageID: "\(mail.id)", from: from, to: mail.to, reader: contact.keys,
                timestamp: time, nonce: Sodium.random(Limits.nonceBytes), keys: self.keys)
            let file = mail.file.flatMap { $0.pointer(to: contact.keys, keys: self.keys) }
            envelope = try sealed.envelope(mail.messageType, file: file)
        } catch is PayloadViolation {
            return self.apply(self.outbox.unsendable(id, .rejected))
        } catch {
            return self.apply(self.outbox.unsendable(id, .badKey))
        }
        // Not kept: after a restart it is queued again, whatever it was.
        if let message = mail.message { self.publish(.changed(message.moved(to: .sending))) }
        self.write(SendMessage(envelope), .message(id))
    }

    func apply(_ verdict: OutboxMachine<UUIDText>.Verdict) {
        do {
            switch verdict {
            case .signAnew(let id, let attempts):
                try self.store.forgetSignedTime(of: id)
                try self.move(id, to: .queued, attempts: attempts)
            case .again(let id, let attempts): try self.move(id, to: .queued, attempts: attempts)
            case .giveUp(let id, let reason): try self.move(id, to: .failed(reason), attempts: nil)
            case .ignore: break
            }
        } catch {
            self.storeFailed(error)
        }
    }

    private func move(_ id: UUIDText, to state: MessageState, attempts: Int?) throws(ClientStoreError) {
        guard let message = try self.store.messages.outgoing(id) else {
            return try self.store.changes.set(state, ofChange: id, attempts: attempts)
        }
        try self.store.messages.set(state, of: id, attempts: attempts)
        self.publish(.changed(message.moved(to: state)))
    }

    /// A message of ours that somebody has needs no sealed file here any more.
    func moved(_ message: Message) {
        self.publish(.changed(message))
        if message.attachment != nil { self.transfers.wake() }
    }

    /// The server says how something of ours fares. A change is settled once anybody but us has it.
    /// - Parameter from: of whom the frame tells, if it names somebody; a receipt of anybody but the recipient is void.
    package func progress(_ id: UUIDText, _ progress: MessageState.Progress, from: WhisperID?) {
        do {
            if let from, try self.store.deliveries.isGroupSending(id) {
                return try self.progress(GroupDeliveryID(id: id, member: from), progress)
            }
            guard let message = try self.store.messages.outgoing(id) else {
                guard let recipient = try self.store.changes.recipientOfChange(id), from == nil || from == recipient
                else {
                    return
                }
                self.outbox.settled(id)
                return try self.store.changes.changeArrived(id)
            }
            if let from, from != message.peer { return }
            self.outbox.settled(id)
            if let changed = try self.store.messages.advance(id, progress) { self.moved(changed) }
        } catch {
            self.storeFailed(error)
        }
    }
}
