import Bus
import ClusterContract
import Contract
import NIOCore
import Telemetry

/// Notices of other services.
extension Gateway {
    func heard(_ event: SubscriptionEvent) {
        switch event {
        case .subscribed:
            // Notices published before are lost, so the routers start over with every connection.
            self.isSubscribed = true
            self.announceAll()
            self.live.mayHaveMissed(self)
        case .subscriptionLost: self.isSubscribed = false
        case .notice(let channel, let bytes):
            self.turns.countEvent(self)
            do throws(WireError) {
                if channel == Keyspace.nodes.name {
                    self.handle(try ClusterNotice(decoding: bytes))
                } else if channel == self.feedChannel {
                    self.live.handle(try FeedNotice(decoding: bytes), self)
                } else {
                    for event in try NodeNotice(decoding: bytes).events { self.handle(event) }
                }
            } catch {
                self.logger.error("notice not understood", [.error: "\(error)"])
            }
        }
    }

    /// Has connections announced again. The next ticks do it in paced parts.
    /// - Parameter isConcerned: whether Notices for this identity, or Jobs or presence of it, may be lost.
    /// - Returns: how many.
    @discardableResult
    func announceAll(where isConcerned: (WhisperID) -> Bool = { _ in true }) -> Int {
        var count = 0
        for (identity, connection) in self.bound where isConcerned(identity) {
            connection.deliveryCursor.mayHaveMissed()
            count += 1
        }
        return count
    }

    private func handle(_ notice: ClusterNotice) {
        switch notice {
        case .partitionsAdopted(let partitions):
            // One walk over all connections, however many partitions have a new owner.
            let adopted = Set(partitions)
            for (identity, connection) in self.bound where adopted.contains(Partition(of: identity)) {
                connection.deliveryCursor.mayHaveMissed()
                self.announcer.announce(connection, self)
            }
        case .sessionsEnded(let identity, let epoch, let why):
            guard let connection = self.bound[identity] else { return }
            let action = connection.machine.sessionsEnded(
                before: epoch, why: why, changesSession: self.requests.changesSession(connection.id))
            self.follow(action, on: connection, why)
        case .guestEnded(let guest, let epoch, let why): self.guests.ended(guest, before: epoch, why, self)
        case .rateClasses(let grants): self.rates.classesAre(grants)
        }
    }

    /// A race in each case: the connection may be gone when news of it come. Then they are nobody's.
    private func handle(_ event: NodeEvent) {
        switch event {
        case .answer(let number, let answer):
            // A race: it came too late, and the client was told so. Or a Job was done twice.
            guard let request = self.requests.answered(number, answer, self) else { return }
            self.rates.settle(request, with: answer, self)
            self.handle(answer, to: request, number)
        case .bound(let id, let isCaughtUp, let number):
            guard let connection = self.connections[id] else { return }
            // Redis may have lost the presence key since the bind. The router has just confirmed this connection, so write the key
            // again.
            if connection.isOpen { self.announcer.showPresence(of: connection) }
            switch connection.deliveryCursor.bound(isCaughtUp: isCaughtUp, answering: number) {
            case .none: break
            case .announceAgain: self.announcer.announce(connection, self)
            }
        case .replaced(let id, let epoch):
            guard let connection = self.connections[id], connection.isOpen else { return }
            let action = connection.machine.replaced(
                epoch, changesSession: self.requests.changesSession(id))
            self.follow(action, on: connection)
        case .mail(let id, let mail, let again):
            guard let connection = self.connections[id], connection.isOpen else { return }
            self.mail.deliver(mail, to: connection, again: again, self)
        case .connectionSnapshot(let entries): self.announcer.reconcile(with: entries, self)
        case .outcomes(let id, let outcomes):
            guard let connection = self.connections[id], connection.isOpen else { return }
            self.outcomes.deliver(outcomes, to: connection, self)
        case .groupEvent(let payload, let readers):
            for reader in readers { self.deliver(groupEvent: payload, to: reader) }
        case .presence(let id, let about, let state): self.tell(state, about: about, to: id)
        case .call(let delivery): self.calls.deliver(delivery, self)
        case .live(let id, let event): self.live.handle(event, on: id, self)
        case .guestMoved(let id, let epoch, let age): self.guests.moved(from: id, epoch: epoch, age: age, self)
        case .frame(let id, let type, let payload):
            guard let connection = self.connections[id] else { return }
            self.reply(connection, type: type, payload: payload, requestID: nil)
        }
    }

    /// The connection's session may not be the live one any more.
    private func follow(
        _ action: ConnectionSession.ReplacedAction, on connection: Connection,
        _ why: ClusterNotice.EndReason = .replaced
    ) {
        switch action {
        case .ignore: break
        case .announceAgain: connection.deliveryCursor.announced(at: self.now)
        case .end: self.endSession(of: connection, why: why)
        }
    }

    private func handle(_ answer: Answer, to request: PendingRequest, _ number: UInt64) {
        guard let connection = self.connections[request.connection], connection.isPresent else { return }
        if case .peek = request.kind { return self.peeks.answered(answer, to: request, number, on: connection, self) }
        let requestID = request.requestID
        switch (answer, request.kind) {
        case (.accepted, .accept(let messageID, let groupRecipient)):
            self.reply(connection, MessageAccepted(messageID: messageID, to: groupRecipient), requestID: requestID)
            self.logger.debug(
                "message acknowledged", [.messageId: "\(messageID)", .connId: .number(connection.id.value)])
        case (.page(let mail, let next), .fetch):
            self.mail.deliver(page: mail, next: next, to: connection, requestID: requestID, self)
        case (.session(let session), .session): self.lookedUp(session, on: connection.id)
        case (.guest(let guest), .guest): self.lookedUp(guest, on: connection.id)
        case (.guest(let guest), .guestCheck(let hash)): self.guests.checked(guest, hash, on: connection.id, self)
        case (.refused, .session), (.refused, .guest): self.lookUpFailed(on: connection.id, .unavailable)
        // It is asked again at the next look.
        case (.refused, .guestCheck): break
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
        case (.stale, let kind):
            let (refuses, action) = connection.machine.wasStale(
                request.epoch, changesSession: !kind.isFarewell && self.requests.changesSession(connection.id))
            if refuses { self.refuse(connection, .notRegistered, requestID: requestID) }
            self.follow(action, on: connection)
        case (.done, _): break
        case (.reply(let type, let payload), _):
            self.reply(connection, type: type, payload: payload, requestID: requestID)
        case (.groupEvent(let number, let payload), _):
            self.outcomes.keep(number, bytes: payload.count, on: connection)
            self.reply(connection, type: GroupEvent.type, payload: payload, requestID: requestID)
        case (.loggedIn(let session, let type, let payload), _):
            let welcome = { self.reply(connection, type: type, payload: payload, requestID: requestID) }
            switch connection.machine.loggedIn(session) {
            case .bind: self.bind(connection, to: session, welcome: welcome)
            case .welcome: welcome()
            case .close(let refusal, let code):
                self.refuse(connection, refusal, requestID: requestID)
                self.close(connection, code)
            }
        case (.guestProved(let guest, let type, let payload), _):
            let welcome = { self.reply(connection, type: type, payload: payload, requestID: requestID) }
            switch connection.machine.proved(guest) {
            case .bind: self.guests.bind(connection, to: guest, self, welcome: welcome)
            case .welcome: welcome()
            case .close(let refusal, let code):
                self.refuse(connection, refusal, requestID: requestID)
                self.close(connection, code)
            }
        case (.refreshed(let successor, let type, let payload), let kind):
            if case .refresh(let presented) = kind {
                connection.machine.refreshed(successor, presented: presented, at: self.now)
            }
            self.reply(connection, type: type, payload: payload, requestID: requestID)
        case (.loggedOut(let type, let payload), _):
            self.reply(connection, type: type, payload: payload, requestID: requestID)
            if connection.machine.loggedOut(request.epoch) { self.close(connection, .normal) }
        case (.accepted, _), (.page, _), (.session, _), (.guest, _):
            self.requests.logUnfit(answer, to: request, number, self)
            self.refuse(connection, .unavailable, requestID: requestID)
        }
    }

    // MARK: Presence

    private func tell(_ state: PresenceState, about peer: WhisperID, to id: ConnectionID) {
        guard let connection = self.connections[id], connection.isOpen, connection.hears(state, of: peer)
        else { return }
        self.reply(connection, PresenceUpdate(whisperID: peer, state: state), requestID: nil)
    }

    private func deliver(groupEvent payload: [UInt8], to reader: GroupReader) {
        guard let connection = self.connections[reader.connection], connection.isOpen,
            self.outcomes.keep(reader.number, bytes: payload.count, on: connection)
        else { return }
        self.reply(connection, type: GroupEvent.type, payload: payload, requestID: nil)
    }
}
