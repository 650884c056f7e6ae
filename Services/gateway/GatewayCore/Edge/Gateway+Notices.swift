import Bus
import Contract
import NIOCore
import Telemetry

/// What other services say.
extension Gateway {
    func heard(_ event: SubscriptionEvent) {
        switch event {
        case .subscribed:
            // Notices published before are lost, so the routers start over with every connection.
            self.isSubscribed = true
            self.announceAll()
        case .subscriptionLost: self.isSubscribed = false
        case .notice(let channel, let bytes):
            self.countEvent()
            do throws(WireError) {
                if channel == Keyspace.nodes.name {
                    self.handle(try ClusterNotice(decoding: bytes))
                } else {
                    for event in try NodeNotice(decoding: bytes).events { self.handle(event) }
                }
            } catch {
                self.logger.error("notice not understood", [.error: "\(error)"])
            }
        }
    }

    /// Has every connection announced again. The next ticks do it in paced parts.
    func announceAll() {
        for connection in self.bound.values {
            connection.deliveryCursor.mayHaveMissed()
        }
    }

    private func handle(_ notice: ClusterNotice) {
        switch notice {
        case .partitionAdopted(let partition):
            for (identity, connection) in self.bound where Partition(of: identity) == partition {
                connection.deliveryCursor.mayHaveMissed()
                self.announce(connection)
            }
        case .sessionsEnded(let identity, let epoch, let why):
            guard let connection = self.bound[identity], let session = connection.session,
                session.caller.epoch < epoch
            else { return }
            switch why {
            case .replaced: self.replaced(connection.id, session.caller.epoch)
            case .banned: self.endSession(of: connection, why: .banned)
            }
        }
    }

    private func handle(_ event: NodeEvent) {
        switch event {
        case .answer(let number, let answer):
            guard let request = self.pendingRequests.answered(number) else { return }
            self.logger.debug("question answered", self.facts(of: answer, to: request, number))
            self.settle(request, with: answer)
            self.handle(answer, to: request)
        case .bound(let id, let isCaughtUp, let number):
            guard let connection = self.connections[id] else { return }
            // Redis may have lost since the bind where it is. That it is the live one, the router has just said.
            if connection.isOpen { self.showPresence(of: connection) }
            switch connection.deliveryCursor.bound(isCaughtUp: isCaughtUp, answering: number) {
            case .none: break
            case .announceAgain: self.announce(connection)
            }
        case .replaced(let id, let epoch): self.replaced(id, epoch)
        case .mail(let id, let mail, let again): self.deliver(mail, to: id, again: again)
        case .connectionSnapshot(let entries): self.reconcile(with: entries)
        case .outcomes(let id, let outcomes): self.deliver(outcomes, to: id)
        case .groupEvent(let payload, let readers):
            for reader in readers { self.deliver(groupEvent: payload, to: reader) }
        case .presence(let id, let about, let state): self.tell(state, about: about, to: id)
        case .call(let delivery): self.deliver(delivery)
        case .frame(let id, let type, let payload):
            guard let connection = self.connections[id] else { return }
            self.reply(connection, type: type, payload: payload, requestID: nil)
        }
    }

    /// The session of this epoch is not the live one any more.
    private func replaced(_ id: ConnectionID, _ epoch: Epoch) {
        guard let connection = self.connections[id], connection.isOpen else { return }
        // A race: the connection has logged in again meanwhile.
        if let own = connection.session?.caller.epoch, own > epoch { return }
        self.endUnlessLoggingIn(connection)
    }

    /// Repeats a departure for each connection that this node no longer has. The next snapshot covers lost or surplus
    /// ones.
    private func reconcile(with entries: [ConnectionSnapshotEntry]) {
        let gone = entries.lazy.filter { self.bound[$0.identity]?.id != $0.connection }
        for entry in gone.prefix(GatewayLimits.departuresAtOnceMax) {
            self.append(
                .unbound(identity: entry.identity, node: self.node, connection: entry.connection),
                to: Partition(of: entry.identity))
        }
    }

    private func endUnlessLoggingIn(_ connection: Connection) {
        guard self.pendingRequests.isLoggingIn(connection: connection.id) else { return self.endSession(of: connection) }
        // A race: the login under way may be the newer one, and the router faster than auth. If it is not, the router says
        // that the session is over when the connection is announced to it again.
        connection.deliveryCursor.announced(at: self.now)
    }

    /// Asked for an older session, before this connection logged in again.
    private func isPast(_ request: PendingRequest, _ connection: Connection) -> Bool {
        guard let asked = request.epoch, let own = connection.session?.caller.epoch else { return false }
        return asked < own
    }

    private func facts(of answer: Answer, to request: PendingRequest, _ number: UInt64) -> Facts {
        var facts: Facts = [
            .trace: "\(AnswerAddress(node: self.node, question: number).trace)", .connId: .number(request.connection.value),
            .latencyMs: .number(self.now - request.askedAt),
        ]
        if case .refused(let refusal) = answer { facts[.code] = "\(refusal.code.rawValue)" }
        return facts
    }

    private func handle(_ answer: Answer, to request: PendingRequest) {
        guard let connection = self.connections[request.connection], connection.isOpen else { return }
        let requestID = request.requestID
        switch (answer, request.kind) {
        case (.accepted, .accept(let messageID, let groupRecipient)):
            var payload = JSONWriter()
            payload.add("messageId", messageID)
            payload.add("status", "sent")
            if let groupRecipient { payload.add("to", groupRecipient) }
            self.reply(connection, type: "message_accepted", payload: payload.finished(), requestID: requestID)
            self.logger.debug(
                "message acknowledged", [.messageId: "\(messageID)", .connId: .number(connection.id.value)])
        case (.page(let mail, let next), .fetch):
            self.deliver(page: mail, next: next, to: connection, requestID: requestID)
        case (.session(let session), .session): self.resolved(session, on: connection.id)
        case (.refused, .session): self.resolveFailed(on: connection.id)
        case (.refused(let refusal), let kind):
            self.refuse(connection, refusal, requestID: requestID)
            if case .accept(let messageID, _) = kind {
                self.logger.debug(
                    "message refused",
                    [
                        .messageId: "\(messageID)", .connId: .number(connection.id.value),
                        .code: "\(refusal.code.rawValue)",
                    ])
            }
            if refusal.code == .userBanned { self.close(connection, .banned) }
        case (.stale, _):
            if self.isPast(request, connection) || self.pendingRequests.isLoggingIn(connection: connection.id) {
                self.refuse(connection, .notRegistered, requestID: requestID)
            }
            if !self.isPast(request, connection) { self.endUnlessLoggingIn(connection) }
        case (.done, _): break
        case (.reply(let type, let payload), _):
            self.reply(connection, type: type, payload: payload, requestID: requestID)
        case (.groupEvent(let number, let payload), _):
            self.keep(number, bytes: payload.count, on: connection)
            self.reply(connection, type: "group_event", payload: payload, requestID: requestID)
        case (.loggedIn(let session, let type, let payload), _):
            if let own = connection.session, own.caller.identity != session.caller.identity {
                self.refuse(
                    connection, Refusal(.authFailed, "the connection belongs to another identity"),
                    requestID: requestID)
                return self.close(connection, .sessionReplaced)
            }
            let welcome = { self.reply(connection, type: type, payload: payload, requestID: requestID) }
            if connection.isPast(session) { welcome() } else { self.bind(connection, to: session, welcome: welcome) }
        case (.refreshed(let successor, let type, let payload), let kind):
            // Not if the connection has another token by now, from a repeated request or a login.
            if case .refresh(let presented) = kind, connection.session?.tokenHash == presented {
                let transition = connection.transition ?? Transition()
                // Asking once more does not let the old one live longer.
                if transition.successor?.tokenHash != successor.tokenHash {
                    transition.oldTokenDiesAt = self.now + Limits.refreshOverlap.milliseconds
                }
                transition.successor = successor
                connection.transition = transition
            }
            self.reply(connection, type: type, payload: payload, requestID: requestID)
        case (.loggedOut(let type, let payload), _):
            self.reply(connection, type: type, payload: payload, requestID: requestID)
            if !self.isPast(request, connection) { self.close(connection, .normal) }
        case (.accepted, _), (.page, _), (.session, _):
            // An answer that does not fit its request is a bug of the service that sent it.
            self.logger.error("answer does not fit", [:])
            self.refuse(connection, .unavailable, requestID: requestID)
        }
    }

    // MARK: Presence

    private func tell(_ state: PresenceState, about peer: WhisperID, to id: ConnectionID) {
        guard let connection = self.connections[id], connection.isOpen, connection.peersOnline.hears(state, of: peer)
        else { return }
        var payload = JSONWriter()
        payload.add("whisperId", peer)
        switch state {
        case .online: payload.add("status", "online")
        case .offline(let lastSeen):
            payload.add("status", "offline")
            payload.add("lastSeen", lastSeen)
        }
        self.reply(
            connection, type: PresenceFrames.presenceUpdate.type, payload: payload.finished(), requestID: nil)
    }

    // MARK: Mail

    private static let receivedHead = Array(#"{"type":"message_received","payload":"#.utf8)

    private func deliver(_ mail: [Mail], to id: ConnectionID, again: Bool) {
        guard let connection = self.connections[id], connection.isOpen else { return }
        // Somebody who gets mail need not wait for the turn that a paced announcement would have.
        if connection.deliveryCursor.isAnnouncementDue(at: self.now) { self.announce(connection) }
        for message in mail where connection.deliveryCursor.takes(message.number, again: again) {
            self.metrics.framesOut.increment()
            self.write(to: connection) {
                WebSocketWriter.text(Self.receivedHead, message.payload, [UInt8(ascii: "}")], to: &$0)
            }
            self.logger.debug(
                "message written", [.messageId: "\(message.messageID)", .connId: .number(connection.id.value)])
        }
    }

    private func deliver(page mail: [Mail], next: Cursor?, to connection: Connection, requestID: String?) {
        var payload = Array(#"{"messages":["#.utf8)
        payload.reserveCapacity(mail.reduce(64) { $0 + $1.payload.count + 1 })
        for (index, message) in mail.enumerated() {
            if index > 0 { payload.append(UInt8(ascii: ",")) }
            payload += message.payload
            self.logger.debug(
                "message written in a page",
                [.messageId: "\(message.messageID)", .connId: .number(connection.id.value)])
        }
        payload.append(UInt8(ascii: "]"))
        if let next {
            payload += #","nextCursor":"#.utf8
            JSONWriter.append(string: next.text, to: &payload)
        }
        connection.deliveryCursor.paged(through: mail.last?.number, isLast: next == nil)
        payload.append(UInt8(ascii: "}"))
        self.reply(connection, type: "pending_messages", payload: payload, requestID: requestID)
    }

    private func deliver(_ outcomes: [Outcome], to id: ConnectionID) {
        guard let connection = self.connections[id], connection.isOpen else { return }
        let isFull = outcomes.count >= GatewayLimits.outcomesPerBindMax
        let unconfirmed = outcomes.filter { !self.confirmed.sayAgain(ifConfirmed: $0.number) }
        guard !unconfirmed.isEmpty else {
            // The page was read before what was confirmed had left it; what lies behind is still to be told.
            if isFull { connection.mayHaveMore = true }
            return
        }
        let confirmation = connection.confirmation ?? Confirmation()
        connection.confirmation = confirmation
        if isFull { confirmation.hasMore = true }
        for outcome in unconfirmed where !confirmation.holds(outcome.number) {
            guard !confirmation.isFull else {
                confirmation.hasMore = true
                break
            }
            confirmation.written.append(outcome.number)
            var payload = JSONWriter()
            payload.add("messageId", outcome.messageID)
            self.logger.debug(
                "outcome written",
                [
                    .messageId: "\(outcome.messageID)", .connId: .number(connection.id.value),
                    .reason: "\(outcome.kind)",
                ])
            switch outcome.kind {
            case .delivered, .read:
                payload.add("status", outcome.kind == .read ? "read" : "delivered")
                payload.add("timestamp", outcome.timestamp)
                payload.add("from", outcome.peer)
                if let group = outcome.group { payload.add("groupId", group: group) }
                self.reply(connection, type: "message_delivered", payload: payload.finished(), requestID: nil)
            case .expired:
                payload.add("to", outcome.peer)
                self.reply(connection, type: "message_expired", payload: payload.finished(), requestID: nil)
            }
        }
    }

    private func deliver(groupEvent payload: [UInt8], to reader: GroupReader) {
        guard let connection = self.connections[reader.connection], connection.isOpen,
            self.keep(reader.number, bytes: payload.count, on: connection)
        else { return }
        self.reply(connection, type: "group_event", payload: payload, requestID: nil)
    }

    /// The `group_event` written next is confirmed by the client's own pong, like an outcome.
    /// - Returns: whether it is not on its way already.
    @discardableResult
    private func keep(_ number: Int64, bytes: Int, on connection: Connection) -> Bool {
        guard !self.confirmed.sayAgain(ifConfirmed: number) else {
            // It may have come in a page, in place of one that is still to be told.
            connection.mayHaveMore = true
            return false
        }
        let confirmation = connection.confirmation ?? Confirmation()
        connection.confirmation = confirmation
        guard !confirmation.holds(number) else { return false }
        let bytesAfter = confirmation.groupEventBytes + bytes
        guard !confirmation.isFull, confirmation.groupEventBytes == 0 || bytesAfter <= GatewayLimits.groupEventsPerBindBytesMax else {
            confirmation.hasMore = true
            return false
        }
        confirmation.written.append(number)
        confirmation.groupEventBytes = bytesAfter
        if bytesAfter > GatewayLimits.groupEventsPerBindBytesMax - GatewayLimits.groupEventBytesMax { confirmation.hasMore = true }
        return true
    }

    func receivedPong(_ payload: [UInt8], on connection: Connection) {
        guard let confirmation = connection.confirmation, !confirmation.awaitingPong.isEmpty,
            payload == Self.pingPayload(confirmation.pingNumber)
        else { return }
        self.confirmed.add(confirmation.awaitingPong)
        confirmation.awaitingPong = []
        guard confirmation.isEmpty else { return }
        connection.confirmation = nil
        if confirmation.hasMore {
            self.sendConfirmed()
            connection.mayHaveMore = true
        }
    }

    static func pingPayload(_ number: UInt64) -> [UInt8] {
        withUnsafeBytes(of: number.bigEndian) { Array($0) }
    }
}

extension Mail {
    /// Read back from the payload, which begins with it (`SignedEnvelope.relayed`). For the log alone.
    fileprivate var messageID: String {
        String(decoding: self.payload.dropFirst(#"{"messageId":""#.utf8.count).prefix(UUIDText.textLength), as: UTF8.self)
    }
}
