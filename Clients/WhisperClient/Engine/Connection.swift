import Contract

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
        let left = self.token.map { Duration.milliseconds($0.expiresAt.milliseconds - self.serverNow.milliseconds) }
        self.perform(self.session.opened(sessionLeft: left, at: .now))

        let (lookups, continuation) = AsyncStream.makeStream(
            of: WhisperID.self, bufferingPolicy: .bufferingOldest(ClientLimits.parkedSendersMax))
        self.lookups = continuation
        let (wishes, backups) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        self.backups = backups
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.keepTime() }
            group.addTask { for await stranger in lookups { await self.lookUp(stranger) } }
            group.addTask { for await _ in wishes { await self.backUp() } }
            for await event in link.events { self.take(event) }
            group.cancelAll()
        }
        // Reached without `.closed` when the task was cancelled.
        if Task.isCancelled { self.session.leave() }
        self.hangUp()
        self.strangers = [:]
        self.owesCaughtUp = false
    }

    /// Closes from our side; the machine has decided what follows.
    func hangUp() {
        guard let connection else { return }
        connection.close()
        self.connectionEnded()
    }

    private func connectionEnded() {
        self.connection = nil
        self.receiptsUnderWay = ([], 0)
        self.receiptsQuietUntil = nil
        for verdict in self.outbox.disconnected() { self.apply(verdict) }
    }

    private func take(_ event: LinkEvent) {
        switch event {
        case .alive: self.session.heard()
        case .closed(let code, let reason):
            guard self.connection != nil else { return }  // We closed it.
            self.trouble = Self.text(closeCode: code)
            self.session.closed(code, reason: reason, at: .now, using: &self.random)
            self.connectionEnded()
        case .text(let text):
            guard self.connection != nil else { return }
            self.session.heard()
            do {
                let (frame, requestID) = try ServerFrame.decode(text)
                self.take(frame, answering: requestID.flatMap { RequestTag($0) })
            } catch {
                self.logger.warning("the server sent something that is no frame")
            }
        }
        self.pump()
    }

    private func take(_ frame: ServerFrame, answering tag: RequestTag?) {
        switch frame {
        case .challenge(let challenge):
            self.challenge = challenge
            self.perform(self.session.challenged(at: .now))
        case .registered(let ack): self.registered(ack)
        case .refreshed(let grant):
            self.learn(serverTime: grant.serverTime)
            self.keep(
                StoredSession(
                    token: grant.sessionToken, expiresAt: Timestamp(milliseconds: grant.sessionExpiresAt)))
            self.session.refreshed(
                sessionLeft: .milliseconds(grant.sessionExpiresAt - grant.serverTime), at: .now)
        case .loggedOut, .unknown: break
        case .pong(let pong):
            self.learn(serverTime: pong.serverTime)
            self.ponged(pong.timestamp ?? 0)
        case .accepted(let accepted): self.progress(accepted.messageId, .accepted)
        case .delivered(let receipt):
            self.progress(receipt.messageId, receipt.status == "read" ? .read : .delivered, from: receipt.from)
        case .expired(let expired): self.progress(expired.messageId, .expired, from: expired.to)
        case .received(let message):
            self.receive(message)
            self.tellUnverified()
        case .page(let page):
            for message in page.messages { self.receive(message) }
            self.tellUnverified()
            self.perform(self.session.paged(nextCursor: page.nextCursor, at: .now, using: &self.random))
        case .refused(let refusal):
            self.refused(refusal, tag ?? refusal.requestId.flatMap { RequestTag($0) })
        }
    }

    private func registered(_ ack: RegisterAck) {
        // Our keys say which ids can be ours; nobody else does.
        guard let id = WhisperID(ack.whisperId), self.keys.publicKeys.belong(to: id), self.id == nil || self.id == id
        else { return self.perform(self.session.refuse(.foreignIdentity)) }
        self.learn(serverTime: ack.serverTime)
        let token = StoredSession(token: ack.sessionToken, expiresAt: Timestamp(milliseconds: ack.sessionExpiresAt))
        do {
            try self.store.set(whisperID: id, session: token)
        } catch {
            return self.storeFailed(error)
        }
        self.id = id
        self.token = token
        self.perform(
            self.session.registered(
                sessionLeft: .milliseconds(ack.sessionExpiresAt - ack.serverTime), at: .now, using: &self.random))
    }

    private func refused(_ refusal: ServerRefusal, _ tag: RequestTag?) {
        let code = refusal.errorCode
        let retryAfter = refusal.retryAfterMs.map { Duration.milliseconds($0) }
        let request: SessionMachine.Request =
            switch tag {
            case .register: .login
            case .fetch: .fetch
            case .refresh: .refresh
            default: .other
            }
        if request == .login { self.trouble = "the server refused the login: \(refusal.message)" }
        switch tag {
        case .message(let id):
            self.apply(self.outbox.refused(id, code, retryAfter: retryAfter, at: .now, using: &self.random))
            if code == .invalidTimestamp { self.perform(self.session.pingNow(at: .now, using: &self.random)) }
        case .receipt(let id): self.receiptRefused(id, code, retryAfter: retryAfter)
        default: break
        }
        self.perform(self.session.refused(request, code, retryAfter: retryAfter, at: .now, using: &self.random))
    }

    // MARK: Acting

    func perform(_ actions: [SessionMachine.Action]) {
        for action in actions {
            switch action {
            case .sendRegisterBegin(let withID):
                self.loginNamesID = withID
                self.write(
                    RegisterBegin(
                        whisperId: withID ? self.id.map { "\($0)" } : nil, deviceId: "\(self.deviceID)",
                        platform: self.platform.rawValue),
                    .register)
            case .sendProof: self.sendProof()
            case .bound:
                self.outbox.online()
                self.publish(.connection(.online))
                self.backups?.yield()
                self.logger.debug("session bound")
                // A resumed session brings no time with it.
                self.perform(self.session.pingNow(at: .now, using: &self.random))
            case .forgetSession:
                self.keep(nil)
                for verdict in self.outbox.sessionLost() { self.apply(verdict) }
            case .fetch(let cursor):
                guard let token else { continue }
                self.write(
                    FetchPending(sessionToken: token.token, cursor: cursor, limit: Limits.fetchPendingMax), .fetch)
            case .caughtUp:
                self.owesCaughtUp = true
                self.settleCaughtUp()
            case .ping:
                self.lastPing = max(self.lastPing + 1, self.serverNow.milliseconds)
                self.write(Ping(timestamp: self.lastPing), .ping)
            case .refresh:
                guard let token else { continue }
                self.write(SessionRefresh(sessionToken: token.token), .refresh)
            case .closeConnection: self.hangUp()
            }
        }
    }

    /// Says that all waiting mail is here, once that of strangers is too.
    func settleCaughtUp() {
        guard self.owesCaughtUp, self.strangers.isEmpty else { return }
        self.owesCaughtUp = false
        self.publish(.caughtUp)
    }

    func write(_ payload: some ClientPayload, _ tag: RequestTag) {
        self.connection?.send(ClientFrame.encode(payload, requestID: tag.text))
    }

    func storeFailed(_ error: ClientStoreError) {
        self.logger.error("the store failed; the client stops", metadata: ["cause": "\(error)"])
        self.perform(self.session.refuse(.storeFailed))
    }

    private func keep(_ session: StoredSession?) {
        self.token = session
        do {
            try self.store.set(session: session)
        } catch {
            self.storeFailed(error)
        }
    }

    private func sendProof() {
        guard let challenge, let bytes = Base64.decode(challenge.challenge),
            let signature = try? self.keys.answer(challenge: bytes)
        else { return self.perform(self.session.refuse(.foreignChallenge)) }
        self.challenge = nil
        func text(_ bytes: [UInt8]) -> String { String(decoding: Base64.encode(bytes), as: UTF8.self) }
        self.write(
            RegisterProof(
                challengeId: challenge.challengeId, deviceId: "\(self.deviceID)", platform: self.platform.rawValue,
                whisperId: self.loginNamesID ? self.id.map { "\($0)" } : nil,
                encPublicKey: text(self.keys.publicKeys.box.bytes),
                signPublicKey: text(self.keys.publicKeys.sign.bytes), signature: text(signature)),
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
