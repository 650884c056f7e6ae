package import Contract

/// Our messages: from the person to the peer's read mark.
extension WhisperClient {
    /// Takes a message: it is stored when this returns, and goes out now or when the server is back.
    /// - Parameter id: of the caller's choice. A message that has it already is returned as it stands, and not sent again.
    package func send(_ text: String, to recipient: WhisperID, id: UUIDText? = nil) throws(SendError) -> Message {
        let bytes = text.utf8.count
        guard bytes > 0 else { throw .empty }
        guard bytes <= ClientLimits.textBytesMax else { throw .tooLong(bytes: bytes) }
        guard recipient != self.id else { throw .toSelf }
        if let id {
            do {
                if let known = try self.store.outgoing(id) { return known }
            } catch {
                throw .store(error)
            }
        }
        let message = Message(
            id: id ?? .random(), peer: recipient, groupID: nil, direction: .outgoing(.queued), content: .text(text),
            time: self.serverNow)
        let contact: Contact?
        do { contact = try self.store.contact(recipient) } catch { throw .store(error) }
        guard let contact else { throw .unknownContact }
        guard !contact.isBanned else { throw .bannedContact }
        do { try self.store.queue(message) } catch { throw .store(error) }
        if contact.isStranger { self.backups?.yield() }
        self.outbox.queued(message.id, to: recipient)
        self.publish(.changed(message))
        self.pump()
        return message
    }

    /// Sends again what was given up, the oldest first, `ClientLimits.retriesMax` at a time. It comes after what waits
    /// already. The server takes a message once, however often it is sent.
    /// - Returns: what is queued again.
    package func retry(to recipient: WhisperID) throws(ClientStoreError) -> [Message] {
        let messages = try self.store.requeueFailed(to: recipient, limit: ClientLimits.retriesMax)
        for message in messages {
            self.outbox.queued(message.id, to: recipient)
            self.publish(.changed(message))
        }
        self.pump()
        return messages
    }

    /// Sends nothing more of what waits for this person. What is under way goes on.
    /// - Returns: what was given up.
    package func cancel(to recipient: WhisperID) throws(ClientStoreError) -> [Message] {
        let messages = try self.store.cancel(self.outbox.cancel(to: recipient))
        for message in messages { self.publish(.changed(message)) }
        return messages
    }

    /// Writes everything that may be written now.
    func pump() {
        for id in self.outbox.due(at: .now) {
            do {
                try self.sendNow(id)
            } catch {
                return self.storeFailed(error)
            }
        }
        self.pumpReceipts()
        self.pumpLive()
        self.rearm()
    }

    private func sendNow(_ id: UUIDText) throws(ClientStoreError) {
        guard let from = self.id, let token, let message = try self.store.outgoing(id),
            case .text(let text) = message.content, let contact = try self.store.contact(message.peer)
        else { return self.apply(self.outbox.unsendable(id, .rejected)) }
        let sealed: SealedMessage
        do {
            // Sealed anew for each attempt, so that the timestamp is always inside the server's window.
            sealed = try SealedMessage(
                text: text, messageID: "\(message.id)", from: from, to: message.peer, reader: contact.keys,
                timestamp: self.serverNow, nonce: Sodium.random(Limits.nonceBytes), keys: self.keys)
        } catch {
            return self.apply(self.outbox.unsendable(id, .badKey))
        }
        // Not kept: after a restart it is queued again, whatever it was.
        self.publish(.changed(message.moved(to: .sending)))
        self.write(SendMessage(sealed, sessionToken: token.token), .message(id))
    }

    func apply(_ verdict: OutboxMachine<UUIDText>.Verdict) {
        do {
            switch verdict {
            case .again(let id, let attempts):
                guard let message = try self.store.outgoing(id) else { return }
                self.change(message, to: .queued, attempts: attempts)
            case .giveUp(let id, let reason):
                guard let message = try self.store.outgoing(id) else { return }
                self.change(message, to: .failed(reason), attempts: nil)
            case .ignore: break
            }
        } catch {
            self.storeFailed(error)
        }
    }

    /// The server says how one of our messages fares.
    /// - Parameter from: who says so, when the frame names somebody; a receipt of anybody but the recipient is void.
    func progress(_ id: UUIDText, _ progress: MessageState.Progress, from: WhisperID? = nil) {
        do {
            guard let message = try self.store.outgoing(id) else { return }
            if let from, from != message.peer { return }
            self.outbox.settled(id)
            if let changed = try self.store.advance(id, progress) { self.publish(.changed(changed)) }
        } catch {
            self.storeFailed(error)
        }
    }

    private func change(_ message: Message, to state: MessageState, attempts: Int?) {
        do {
            try self.store.set(state, of: message.id, attempts: attempts)
        } catch {
            return self.storeFailed(error)
        }
        self.publish(.changed(message.moved(to: state)))
    }
}
