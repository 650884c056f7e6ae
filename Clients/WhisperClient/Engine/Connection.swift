package import Contract

/// One connection, from opening to its end.
extension WhisperClient {
    func converse() async {
        let link: any OpenLink
        do {
            link = try await self.server.open()
        } catch {
            self.trouble = Self.text(error)
            self.session.openFailed(at: .now, using: &self.random)
            return
        }
        self.connection = link
        self.trouble = "the connection broke"
        let left = self.token.map { $0.expiresAt - self.serverNow }
        self.perform(self.session.opened(sessionLeft: left, at: .now))

        let (lookups, continuation) = AsyncStream.makeStream(
            of: WhisperID.self, bufferingPolicy: .bufferingOldest(ClientLimits.parkedSendersMax))
        self.lookups = continuation
        let (tasks, newTasks) = AsyncStream.makeStream(
            of: (@Sendable (isolated WhisperClient) async -> Void).self,
            bufferingPolicy: .bufferingOldest(ClientLimits.liveTasksWaitingMax))
        self.tasks = newTasks
        let work = self.work.map { (calls: $0.signal.begin(), work: $0.work) }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.keepTime() }
            for (calls, work) in work {
                group.addTask { for await _ in calls { await work(self) } }
            }
            group.addTask { for await stranger in lookups { await self.lookUp(stranger) } }
            group.addTask { await self.perform(tasks) }
            for await event in link.events { self.take(event) }
            group.cancelAll()
            self.questions.fail()
        }
        // Reached without `.closed` when the task was cancelled.
        if Task.isCancelled { self.session.leave() }
        self.hangUp()
        self.strangers = [:]
        self.owesCaughtUp = false
    }

    /// Work of features, each in a task of its own while a connection lives. It begins with the session.
    private var work: [(signal: WorkSignal, work: @Sendable (isolated WhisperClient) async -> Void)] {
        var work: [(signal: WorkSignal, work: @Sendable (isolated WhisperClient) async -> Void)] = []
        work.append((self.backup.signal, { await $0.backup.work($0) }))
        work.append((self.account.signal, { await $0.account.work($0) }))
        work.append((self.groups.signal, { await $0.groups.work($0) }))
        work.append((self.profileKeeper.signal, { await $0.profileKeeper.work($0) }))
        for signal in self.transfers.signals { work.append((signal, { await $0.transfers.work($0) })) }
        return work
    }

    /// Closes from our side; the machine has decided what follows.
    func hangUp() {
        guard let connection else { return }
        connection.close()
        self.connectionEnded()
    }

    private func connectionEnded() {
        self.connection = nil
        self.receipts.disconnected()
        self.questions.fail()
        self.streams.disconnected()
        self.heard.disconnected()
        self.rooms.disconnected()
        self.presence.disconnected(self)
        self.outbox.disconnected(self)
    }

    private func take(_ event: LinkEvent) {
        switch event {
        case .alive: self.session.heard()
        case .closed(let code, let reason):
            guard self.connection != nil else { return }  // We closed it.
            self.trouble = Self.text(closeCode: code)
            self.session.closed(code, reason: reason, at: .now, using: &self.random)
            if code == CloseCode.banned.rawValue { self.keep(nil) }
            self.connectionEnded()
        case .text(let text):
            guard self.connection != nil else { return }
            self.session.heard()
            if let message = self.reading.message(of: text, logger: self.logger) { self.take(message) }
        }
        self.pump()
    }

    /// Frames that this client has no use for, and those that this release does not know, change nothing.
    private func take(_ message: ServerMessage) {
        switch message.frame {
        case let challenge as RegisterChallenge:
            self.challenge = challenge
            self.perform(self.session.challenged(at: .now))
        case let ack as RegisterAck: self.registered(ack)
        case let ack as SessionRefreshAck: self.refreshed(ack.session)
        case let pong as Pong:
            self.learn(serverTime: pong.serverTime)
            self.receipts.ponged(pong.timestamp?.milliseconds ?? 0, self)
            self.rearmLater()
        case let accepted as MessageAccepted:
            self.outbox.progress(accepted.messageID, .accepted, from: accepted.to, self)
        case let receipt as MessageDelivered:
            self.outbox.progress(
                receipt.messageID, receipt.status == .read ? .read : .delivered, from: receipt.from, self)
        case let expired as MessageExpired:
            self.outbox.progress(expired.messageID, .expired, from: expired.to, self)
        case let received as MessageReceived: self.receive([received])
        case let page as PendingMessages:
            self.receive(page.messages)
            self.perform(self.session.paged(nextCursor: page.nextCursor, at: .now, using: &self.random))
        case let refusal as ErrorFrame:
            self.refused(refusal, (message.requestID ?? refusal.requestID).flatMap { RequestTag($0) })
        default:
            var number: UInt64?
            if case .question(let asked)? = message.requestID.flatMap({ RequestTag($0) }) { number = asked }
            // The caller of a change reads the group as the answer leaves it.
            if let event = message.frame as? GroupEvent { self.groups.take(event, self) }
            if !self.heard.take(message.frame, answering: number, self), !self.streams.take(message.frame, self) {
                self.rooms.take(message.frame, answering: number, self)
            }
            if let number { self.questions.answered(number, .success(message.frame)) }
            // The caller of a logout has its answer before the connection closes.
            self.take(message.frame)
        }
    }

    /// Frames that concern this moment only.
    private func take(_ frame: (any ServerFrame)?) {
        switch frame {
        case is LogoutAck:
            self.keep(nil)
            self.withStore { try self.store.forgetWakeSecret() }
            self.close()
        case is AccountDeleted:
            // Nobody logs in with these keys again.
            self.keep(nil)
            self.stop(.refused(.erased))
        case let notification as TypingNotification: self.presence.take(notification, self)
        case let update as PresenceUpdate: self.presence.take(update, self)
        case let changed as ProfileChanged: self.liveProfile.take(changed, self)
        default: self.calls.take(frame, self)
        }
    }

    private func refreshed(_ grant: SessionGrant) {
        self.learn(serverTime: grant.serverTime)
        self.keep(Self.session(grant))
        self.session.refreshed(sessionLeft: Self.left(of: grant), at: .now)
    }

    private static func session(_ grant: SessionGrant) -> StoredSession {
        StoredSession(token: grant.token, expiresAt: grant.expiresAt, rateClass: grant.rateClass?.description)
    }

    private static func left(of grant: SessionGrant) -> Duration { grant.expiresAt - grant.serverTime }

    private func registered(_ ack: RegisterAck) {
        // Our keys say which ids can be ours; nobody else does.
        let (id, grant) = (ack.whisperID, ack.session)
        guard self.keys.publicKeys.belong(to: id), self.id == nil || self.id == id
        else { return self.stop(.foreignIdentity) }
        self.learn(serverTime: grant.serverTime)
        let token = Self.session(grant)
        do {
            try self.store.settings.set(whisperID: id, session: token)
            // Another device may have been told of groups meanwhile.
            try self.store.groups.oweGroupList()
        } catch {
            return self.storeFailed(error)
        }
        self.id = id
        self.token = token
        self.perform(
            self.session.registered(sessionLeft: Self.left(of: grant), at: .now, using: &self.random))
    }

    private func refused(_ refusal: ErrorFrame, _ tag: RequestTag?) {
        let code = refusal.errorCode
        self.log(refused: code, tag)
        let told = refusal.retryAfterMilliseconds.map { Duration.milliseconds($0) }
        // The end of a ban alone may be further away than a wait is long.
        let retryAfter = told.map { min($0, .milliseconds(Limits.retryAfterMillisecondsMax)) }
        let request: SessionMachine.Request =
            switch tag {
            case .register: .login
            case .fetch: .fetch
            case .refresh: .refresh
            default: .other
            }
        if request == .login { self.trouble = "the server refused the login: \(refusal.message)" }
        switch tag {
        case .message(let id): self.outbox.refused(id, code, retryAfter: retryAfter, self)
        case .copy(let copy): self.outbox.refused(copy, code, retryAfter: retryAfter, self)
        case .receipt(let id): self.receipts.refused(id, code, retryAfter: retryAfter, self)
        case .call(let id): self.calls.refused(id, code, self)
        case .question(let number):
            self.questions.answered(number, .failure(.refused(code, retryAfter: retryAfter)))
        case .packet(let id, let position):
            self.streams.refused(position, of: id, code, retryAfter: retryAfter, self)
        case .room(let id): self.rooms.signalRefused(in: id, code)
        case .resync(let id): self.heard.resyncRefused(of: id, retryAfter: retryAfter)
        default: break
        }
        // Its answer tells the server's time.
        if code == .invalidTimestamp { self.ping() }
        // No ban that is told as longer has an end that anybody here will see.
        let bannedUntil =
            code == .userBanned ? told.map { self.serverNow + min($0, ClientLimits.banTermMax) } : nil
        self.perform(
            self.session.refused(
                request, code, retryAfter: retryAfter, bannedUntil: bannedUntil,
                reason: refusal.reason.flatMap { RefusalReason(rawValue: $0) }, at: .now, using: &self.random))
    }

    // MARK: Acting

    func perform(_ actions: [SessionMachine.Action]) {
        for action in actions {
            switch action {
            case .sendRegisterBegin(let withID):
                self.loginNamesID = withID
                self.write(
                    RegisterBegin(
                        whisperID: withID ? self.id : nil, deviceID: self.deviceID,
                        platform: self.installation.platform,
                        client: self.installation.kind),
                    .register)
            case .sendProof: self.sendProof()
            case .bound:
                self.outbox.online()
                self.outbox.banEnded(self)
                self.publish(.connection(.online))
                for (signal, _) in self.work { signal.wake() }
                self.streams.bound(self)
                self.heard.bound(self)
                self.profileKeeper.bound(self)
                self.rooms.bound(self)
                self.calls.bound(self)
                self.judgeStaleMail()
                // A resumed session brings no time with it.
                self.ping()
            case .forgetSession:
                self.keep(nil)
                self.outbox.sessionLost(self)
            case .fetch(let cursor):
                guard self.token != nil else { continue }
                self.write(FetchPending(cursor: cursor, limit: Limits.fetchPendingMax), .fetch)
            case .caughtUp:
                self.owesCaughtUp = true
                self.settleCaughtUp()
            case .ping:
                self.lastPing = max(self.lastPing + 1, self.serverNow.milliseconds)
                self.write(Ping(at: Timestamp(milliseconds: self.lastPing)), .ping)
            case .refresh:
                guard self.token != nil else { continue }
                self.write(SessionRefresh(), .refresh)
            case .closeConnection: self.hangUp()
            }
        }
    }

    /// Says that all waiting mail is here, once that of strangers is too. Receipts that may go have gone before.
    func settleCaughtUp() {
        guard self.owesCaughtUp, self.strangers.isEmpty else { return }
        self.owesCaughtUp = false
        self.receipts.pump(self)
        self.publish(.caughtUp)
    }

    package func write(_ frame: some ClientFrame, _ tag: RequestTag) {
        self.connection?.send(frame.text(requestID: tag.text, token: self.token.map { .session($0.token) }))
    }

    package func storeFailed(_ error: ClientStoreError) {
        self.logger.error(
            "the store failed; the client stops", metadata: [LogFact.store: "\(error.kind)", "cause": "\(error)"])
        self.stop(.storeFailed)
    }

    @discardableResult
    package func ping() -> Int64 {
        self.perform(self.session.pingNow(at: .now, using: &self.random))
        return self.lastPing
    }

    package func stop(_ reason: StopReason) { self.perform(self.session.refuse(reason)) }

    func keep(_ session: StoredSession?) {
        self.token = session
        self.withStore { try self.store.settings.set(session: session) }
    }

    private func sendProof() {
        guard let challenge,
            let signature = (try? self.keys.answer(challenge: challenge.challenge)).flatMap({ Bytes64($0) })
        else { return self.stop(.foreignChallenge) }
        self.challenge = nil
        let keys = self.keys.publicKeys
        guard let invitation = self.withStore({ try self.store.settings.invitation() }) else { return }
        self.write(
            RegisterProof(
                challengeID: challenge.challengeID, deviceID: self.deviceID, platform: self.installation.platform,
                whisperID: self.loginNamesID ? self.id : nil, encPublicKey: keys.box, signPublicKey: keys.sign,
                signature: signature, invitation: invitation?.text, client: self.installation.kind),
            .register)
    }

    private static func text(_ error: LinkError) -> String {
        switch error {
        case .unreachable(let why): why
        case .noUpgrade: "the server does not take connections now"
        case .timeout: "no answer"
        }
    }

    private static func text(closeCode: UInt16?) -> String {
        switch closeCode.flatMap(CloseCode.init(rawValue:)) {
        case .goingAway: "the server restarts"
        case .idle: "the server thought we were gone"
        case .slowConsumer: "too slow for the server"
        case .tooManyConnections: "too many connections from this address"
        case .abuse: "the server has had enough for now"
        case nil where closeCode == nil: "the connection broke"
        default: "the server closed the connection"
        }
    }
}
