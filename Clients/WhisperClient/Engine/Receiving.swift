package import Contract

/// Their messages: verified, stored, acknowledged, and in time marked as read.
extension WhisperClient {
    /// Takes messages that came together from the server.
    func receive(_ mail: [MessageReceived]) {
        for receipt in self.keep(mail) { self.receipts.delivered(receipt) }
    }

    /// Takes messages that came together, by whichever way. They are stored in one transaction.
    /// - Returns: the receipts that may go out: those for what the store holds.
    package func keep(_ mail: [MessageReceived]) -> [OwedReceipt] {
        self.withStore { () -> [OwedReceipt] in
            var arrivals: [Arrival] = []
            var safe: [OwedReceipt] = []
            var suspicions: Set<Suspicion> = []
            for incoming in mail {
                let receipt = OwedReceipt(id: incoming.envelope.messageID, to: incoming.envelope.from)
                switch try self.judge(incoming) {
                case .new(let arrival):
                    arrivals.append(arrival)
                    guard case .suspicious(_, _, let suspicion) = arrival else {
                        safe.append(receipt)
                        continue
                    }
                    suspicions.insert(suspicion)
                    // Mail that looks too old by our wrong clock may be shown later. Nothing is said of it before.
                    if suspicion.reason != .stale { safe.append(receipt) }
                case .known: safe.append(receipt)
                case .notTaken: break
                }
            }
            for event in try self.store.messages.keep(arrivals, at: self.serverNow) {
                self.publish(event)
                if case .passing(.timer(let place, _, _)) = event { try self.chats.tell(of: place, self) }
            }
            if try self.store.groups.owesGroupList() { self.groups.signal.wake() }
            for suspicion in suspicions {
                let count = try self.store.quarantineCounts()[suspicion] ?? 1
                self.publish(.alarm(.suspiciousMail(suspicion, count: count)))
            }
            return safe
        } ?? []
    }

    /// The decision on a received message.
    private enum Judgement {
        case new(Arrival)
        /// It is here already: the receipt got lost, or crossed with a repetition.
        case known
        /// Nothing is said about it now. If it is ours, it waits for the keys of its sender.
        case notTaken
    }

    private func judge(_ incoming: MessageReceived) throws(ClientStoreError) -> Judgement {
        let (id, from) = (incoming.envelope.messageID, incoming.envelope.from)
        guard incoming.envelope.to == self.id else {
            self.logger.warning("mail that is not ours was dropped")
            return .notTaken
        }
        let sealed = SealedMessage(incoming.envelope)
        let groupID = sealed.groupID.map { Conversation.key(ofGroup: $0) }
        guard try !self.store.isRemembered(id, in: groupID ?? "\(from)") else { return .known }
        guard let writer = try self.store.contacts.contact(from) else {
            self.park(incoming, of: from)
            return .notTaken
        }
        // Nobody sees it. The receipt ends its repetitions all the same, and does not tell its sender of the block.
        guard !writer.isBlocked else { return .known }
        // The server need not send again what does not verify, nor wake us for it: no repetition will be better.
        func suspicious(_ reason: Suspicion.Reason) -> Judgement {
            .new(.suspicious(incoming.json, id: id, Suspicion(sender: from, reason: reason)))
        }
        var message = Message(
            id: id, peer: from, groupID: groupID, direction: .incoming(isRead: false), content: .unreadable,
            time: incoming.envelope.timestamp)
        var change: MessageChange?
        var timer: ChatTimer?
        var secret: FileSecret?
        do {
            let plain = try sealed.open(writer: writer.keys, keys: self.keys)
            switch MessageBody(plain, id: id) {
            case .text(let text, let extras)?: message.take(text, extras)
            case .file(let details, let nonce, let text, let extras)?:
                message.take(text, extras)
                secret = incoming.secret(of: details, nonce: nonce, from: writer.keys, keys: self.keys)
                message.attachment = Attachment(details: details, state: secret == nil ? .failed(.damaged) : .offered)
            case .change(let made)?: change = made
            case .timer(let made)?: timer = made
            case nil:
                message.content = Self.content(plain, kind: incoming.envelope.msgType)
                (message.attachment, secret) = incoming.foreignFile(from: writer.keys, keys: self.keys)
            }
        } catch {
            switch error {
            case .unreadable: break
            case .unverified: return suspicious(.unverified)
            }
        }
        guard !self.isStale(incoming) else { return suspicious(.stale) }
        try self.contacts.returned(writer, self)
        change?.signedAt = incoming.envelope.timestamp
        if let change { return .new(.change(change, from: from, groupID: groupID)) }
        if let timer {
            // One from the future would hold against all later ones.
            let latest = incoming.envelope.timestamp.milliseconds + Limits.timestampSkewMilliseconds
            guard timer.revision.time <= latest else { return .known }
            return .new(.timer(timer, from: from, groupID: groupID))
        }
        message.isMentioned = message.mentions.contains { $0.id == self.id }
        let evidence = Evidence(sealed: sealed, messageType: incoming.envelope.msgType)
        return .new(message.attachment == nil ? .message(message, evidence) : .file(message, secret, evidence))
    }

    /// By our own clock: a hostile server cannot turn it back, and repeat what was signed long ago.
    private func isStale(_ incoming: MessageReceived) -> Bool {
        incoming.envelope.timestamp < self.localNow - ClientLimits.mailAgeMax
    }

    /// Takes mail that looked too old only because our clock was ahead.
    func judgeStaleMail() {
        self.withStore {
            let mail = try self.store.staleMail().compactMap { try? MessageReceived(payload: $0) }
            let judged = mail.filter { !self.isStale($0) }
            guard !judged.isEmpty else { return }
            let safe = self.keep(judged)
            for receipt in safe { self.receipts.delivered(receipt) }
            try self.store.release(safe)
        }
    }

    private static func content(_ plain: [UInt8], kind: String) -> Message.Content {
        guard kind == "text", let text = String(validating: plain, as: UTF8.self) else {
            return .other(kind: kind, body: plain)
        }
        return .text(text)
    }

    // MARK: Strangers

    /// Keeps mail back until its sender's keys are here. Mail beyond the bounds waits at the server, which sends again.
    private func park(_ message: MessageReceived, of stranger: WhisperID) {
        if let waiting = self.strangers[stranger] {
            // Repetitions of a parked message are told apart when it is released.
            guard waiting.count < ClientLimits.parkedPerSenderMax else { return }
            self.strangers[stranger]?.append(message)
        } else if self.strangers.count < ClientLimits.parkedSendersMax {
            self.strangers[stranger] = [message]
            self.lookups?.yield(stranger)
        }
    }

    func lookUp(_ stranger: WhisperID) async {
        do {
            // A group message is not a contact request. The sender's first direct message is one.
            let isOfGroup =
                try self.store.groups.isKnownByGroup(stranger)
                || self.strangers[stranger]?.allSatisfy { $0.envelope.groupID != nil } == true
            let contact = try await self.contacts.fetchAndPin(
                stranger, name: nil, isStranger: true, isNews: !isOfGroup, self)
            if !isOfGroup { self.publish(contact.isStranger ? .request(contact) : .contact(contact)) }
        } catch {
            self.logger.debug("keys of a stranger could not be fetched")
        }
        // Without keys the mail stays unacknowledged: it comes again, and the keys are asked for again.
        let waiting = self.strangers.removeValue(forKey: stranger) ?? []
        if (try? self.store.contacts.contact(stranger)) != nil { self.receive(waiting) }
        self.settleCaughtUp()
        self.pump()
    }
}

extension Message {
    fileprivate mutating func take(_ text: String, _ extras: MessageBody.Extras) {
        self.content = .text(text)
        (self.replyTo, self.expires) = (extras.replyTo, extras.expires)
        (self.mentions, self.poll) = (extras.mentions, extras.poll)
    }
}
