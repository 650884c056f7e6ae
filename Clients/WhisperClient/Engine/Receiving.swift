package import Contract

/// Their messages: verified, stored, acknowledged, and in time marked as read.
extension WhisperClient {
    /// Takes one message. A receipt goes out only for what the store holds.
    func receive(_ incoming: ReceivedMessage) {
        guard let id = UUIDText(incoming.messageId), let from = WhisperID(incoming.from),
            let to = WhisperID(incoming.to), to == self.id
        else { return self.logger.warning("mail that is not ours was dropped") }
        do {
            let conversation = incoming.groupId ?? "\(from)"
            if try self.store.isRemembered(id, in: conversation) {
                // The receipt got lost, or crossed with a repetition.
                return self.sendReceipt(id, to: from, status: "delivered")
            }
            guard let writer = try self.store.contact(from) else { return self.park(incoming, of: from) }
            guard let content = self.open(incoming, writer: writer) else {
                // The server need not send it again, nor wake us for it: no repetition will verify.
                try self.store.quarantine(incoming, id: id, from: from, at: self.serverNow)
                self.unverifiedSenders.insert(from)
                return self.sendReceipt(id, to: from, status: "delivered")
            }
            let message = Message(
                id: id, peer: from, groupID: incoming.groupId, direction: .incoming(isRead: false), content: content,
                time: Timestamp(milliseconds: incoming.timestamp))
            if try self.store.keep(message) { self.publish(.received(message)) }
            self.sendReceipt(id, to: from, status: "delivered")
        } catch {
            self.storeFailed(error)
        }
    }

    /// - Returns: `nil` if the signature is not the writer's.
    private func open(_ incoming: ReceivedMessage, writer: Contact) -> Message.Content? {
        do {
            return Self.content(try incoming.sealed.open(writer: writer.keys, keys: self.keys), kind: incoming.msgType)
        } catch {
            switch error {
            case .unreadable: return .unreadable
            case .unverified: return nil
            }
        }
    }

    /// Says once for each sender that there is mail in their name which does not verify. Called after all that came
    /// together was taken, so that the count is not always one.
    func tellUnverified() {
        for sender in self.unverifiedSenders {
            do {
                let count = try self.store.quarantineCounts()[sender] ?? 1
                self.alarm(.unverifiedMail(from: sender, count: count), once: "unverified \(sender)")
            } catch {
                self.storeFailed(error)
            }
        }
        self.unverifiedSenders = []
    }

    private static func content(_ plain: [UInt8], kind: String) -> Message.Content {
        guard kind == "text" else { return .other(kind: kind) }
        guard let text = String(validating: plain, as: UTF8.self) else { return .unreadable }
        return .text(text)
    }

    private func sendReceipt(_ id: UUIDText, to: WhisperID, status: String) {
        guard let token, let from = self.id else { return }
        self.write(
            DeliveryReceipt(
                sessionToken: token.token, messageId: "\(id)", from: "\(from)", to: "\(to)", status: status,
                timestamp: self.serverNow.milliseconds),
            .receipt(id))
    }

    // MARK: Read marks

    /// The person has seen everything from this peer. The marks survive restarts until the server has them.
    package func markRead(_ peer: WhisperID) throws(ClientStoreError) {
        try self.store.markRead(peer)
        self.pump()
    }

    /// Whether all read marks have reached the server.
    package func owesNothing() throws(ClientStoreError) -> Bool {
        try self.store.owedReceipts(limit: 1).isEmpty
    }

    /// Sends read marks, one batch at a time. There is no answer to a receipt: the pong of a ping written behind the
    /// batch proves that the server has read it.
    func pumpReceipts() {
        guard self.session.isBound, self.connection != nil, self.receiptsUnderWay.receipts.isEmpty,
            self.receiptsQuietUntil == nil
        else { return }
        do {
            let owed = try self.store.owedReceipts(limit: Self.receiptBatch)
            guard !owed.isEmpty else { return }
            for receipt in owed { self.sendReceipt(receipt.id, to: receipt.to, status: "read") }
            self.perform(self.session.pingNow(at: .now, using: &self.random))
            self.receiptsUnderWay = (Set(owed), self.lastPing)
        } catch {
            self.storeFailed(error)
        }
    }

    /// Below the burst that the server allows a connection.
    private static let receiptBatch = 50

    func ponged(_ ping: Int64) {
        guard !self.receiptsUnderWay.receipts.isEmpty, ping >= self.receiptsUnderWay.ping else { return }
        let arrived = self.receiptsUnderWay.receipts
        self.receiptsUnderWay = ([], 0)
        do {
            try self.store.receiptsArrived(arrived)
        } catch {
            self.storeFailed(error)
        }
    }

    func receiptRefused(_ id: UUIDText, _ code: ErrorCode?, retryAfter: Duration?) {
        // Anything but these will not get better by repeating. A lost mark of delivery heals by itself: the server sends
        // the message again.
        guard code == .rateLimited || code == .internalError || code == .notRegistered else { return }
        self.receiptsQuietUntil = .now + max(retryAfter ?? .zero, .seconds(1))
        self.receiptsUnderWay.receipts = self.receiptsUnderWay.receipts.filter { $0.id != id }
        do {
            // The refusal may come after the pong that seemed to confirm it.
            try self.store.owesRead(id)
        } catch {
            self.storeFailed(error)
        }
    }

    // MARK: Strangers

    /// Keeps mail back until its sender's keys are here. What does not fit waits at the server, which sends again.
    private func park(_ message: ReceivedMessage, of stranger: WhisperID) {
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
            let contact = try await self.fetchAndPin(stranger, name: nil)
            self.publish(.newContact(contact))
        } catch {
            self.logger.debug("keys of a stranger could not be fetched")
        }
        // Without keys the mail stays unacknowledged: it comes again, and the keys are asked for again.
        let waiting = self.strangers.removeValue(forKey: stranger) ?? []
        if (try? self.store.contact(stranger)) != nil {
            for message in waiting { self.receive(message) }
            self.tellUnverified()
        }
        self.settleCaughtUp()
        self.pump()
    }

    func alarm(_ alarm: Alarm, once key: String) {
        guard self.alarmed.count < ClientLimits.rememberedIDsMax, self.alarmed.insert(key).inserted else { return }
        self.logger.warning("something came that does not fit the pinned keys; it was not taken")
        self.publish(.alarm(alarm))
    }
}
