import Bus
import Contract
import ServerCrypto
import Telemetry

/// Frames become requests to other services, which answer with a Notice.
extension Gateway {
    // MARK: Mailboxes

    /// Frames that change or read a mailbox become Jobs of its partition.
    func mail(
        _ frame: ReceivedFrame, of session: Session, overRateFor wait: Int64?, on connection: Connection
    ) {
        switch frame.definition.type {
        case SendMessage.definition.type:
            let message = self.read(frame, on: connection) { payload throws(Payload.Corrupted) in
                try SendMessage(payload).envelope
            }
            guard let message else { return }
            self.accept(message, requestID: frame.requestID, of: session, overRateFor: wait, on: connection)
        case GroupSendMessage.definition.type:
            let message = self.read(frame, on: connection) { payload throws(Payload.Corrupted) in
                try GroupSendMessage(payload).envelope
            }
            guard let message else { return }
            self.accept(message, requestID: frame.requestID, of: session, overRateFor: wait, on: connection)
        case FetchPending.definition.type:
            let fetch = FetchPending(frame.payload)
            let partition = Partition(of: session.caller.identity)
            guard let number = self.ask(.fetch, partition, requestID: frame.requestID, on: connection) else { return }
            let request = FetchRequest(
                answer: AnswerAddress(node: self.node, question: number), connection: connection.id,
                caller: session.caller, after: fetch.cursor?.after ?? 0, limit: fetch.limit)
            self.mailboxJobs.append(.fetch(request), to: partition, self) { _ in
                self.assumeIsolated { $0.failed(number, because: .busFailed) }
            }
            self.log(number, frame.definition.type, of: session, on: connection)
        case DeliveryReceipt.definition.type:
            let receipt = DeliveryReceipt(frame.payload)
            let report = ReceiptReport(
                recipient: session.caller, sender: receipt.to, messageID: receipt.messageID, status: receipt.status,
                timestamp: receipt.timestamp)
            // A receipt that gets lost heals: the message is still pending, comes again, and is acknowledged again. Of what went out
            // in a page the router awaits no receipt until it is told how far the connection is.
            self.mailboxJobs.hold(
                .init(report: report, connection: connection.id), for: Partition(of: session.caller.identity), self)
            self.logger.debug(
                "receipt forwarded",
                [
                    .messageId: "\(receipt.messageID)", .whisperId: "\(session.caller.identity)",
                    .connId: .number(connection.id.value), .reason: "\(receipt.status)",
                ])
        case Typing.definition.type:
            let typing = Typing(frame.payload)
            let partition = Partition(of: typing.to)
            guard !self.mailboxJobs.isFull(partition) else { return }
            let news = TypingNews(from: session.caller.identity, to: typing.to, isTyping: typing.isTyping)
            self.mailboxJobs.append(.typing(news), to: partition, self)
        default:
            // Our own bug: a frame with a mailbox route has a Job.
            assertionFailure("\(frame.definition.type) has no job")
            self.logger.error("frame without a job", [.frame: "\(frame.definition.type)"])
            self.refuse(connection, .unavailable, requestID: frame.requestID)
        }
    }

    /// Has the router of the recipient's mailbox accept a message.
    private func accept(
        _ message: SignedEnvelope, requestID: String?, of session: Session, overRateFor wait: Int64?,
        on connection: Connection
    ) {
        let partition = Partition(of: message.to)
        let kind = PendingRequest.Kind.accept(
            messageID: message.messageID, groupRecipient: message.groupID == nil ? nil : message.to)
        guard let number = self.ask(kind, partition, requestID: requestID, on: connection) else { return }
        let digest = SHA256()
        message.canonicalBytes { digest.update($0) }
        let envelope = AcceptEnvelope(
            answer: AnswerAddress(node: self.node, question: number), sender: session.caller,
            senderKey: session.signPublicKey, messageID: message.messageID, to: message.to, group: message.groupID,
            timestamp: message.timestamp, signature: message.signature, digest: digest.finish(),
            payload: message.relayed(), receivedAt: .now, overRateFor: wait, attachmentKey: message.attachmentKey)
        self.mailboxJobs.append(.accept(envelope), to: partition, self) { _ in
            self.assumeIsolated { $0.failed(number, because: .busFailed) }
        }
        self.logger.debug(
            "message forwarded",
            [
                .messageId: "\(message.messageID)", .whisperId: "\(session.caller.identity)",
                .deviceId: "\(session.device)", .connId: .number(connection.id.value),
                .partition: .number(partition.index),
                .trace: "\(envelope.answer.trace)",
            ])
    }

    /// - Returns: `nil` if the partition or the node has too much waiting; the client has been told.
    private func ask(
        _ kind: PendingRequest.Kind, _ partition: Partition, requestID: String?, on connection: Connection
    ) -> UInt64? {
        guard self.pendingRequests.count < GatewayLimits.pendingRequestsMax else {
            self.fail(connection, because: .tooManyRequests, requestID: requestID)
            return nil
        }
        guard !self.mailboxJobs.isFull(partition) else {
            self.fail(connection, because: .partitionFull, requestID: requestID)
            return nil
        }
        return self.pendingRequests.add(
            .init(
                connection: connection.id, requestID: requestID, kind: kind, epoch: connection.session?.caller.epoch),
            at: self.now)
    }

    // MARK: Services

    /// - Returns: whether the request is pending; if not, the client has been told.
    @discardableResult
    func ask(_ service: ServiceName, _ frame: ReceivedFrame, session: Session?, on connection: Connection) -> Bool {
        let kind = self.kind(of: frame, session, on: connection)
        guard let open = self.openRequest(for: frame, kind, of: session, on: connection) else { return false }
        let token: [UInt8] =
            frame.definition.passesToken
            ? frame.payload.withText(frame.definition.sessionField!) { Array($0) } : []
        self.send(
            ServiceRequest(
                answer: AnswerAddress(node: self.node, question: open.number), connection: connection.id,
                session: session, presentedToken: token,
                body: .frame(type: frame.definition.type, payload: open.payload)),
            to: service, number: open.number)
        return true
    }

    func openRequest(
        for frame: ReceivedFrame, _ kind: PendingRequest.Kind, of session: Session?, on connection: Connection
    ) -> OpenRequest? {
        guard self.pendingRequests.count < GatewayLimits.pendingRequestsMax else {
            self.fail(connection, because: .tooManyRequests, requestID: frame.requestID)
            return nil
        }
        guard let payload = self.passedOn(frame, on: connection) else { return nil }
        let number = self.pendingRequests.add(
            .init(connection: connection.id, requestID: frame.requestID, kind: kind, epoch: session?.caller.epoch),
            at: self.now)
        self.log(number, frame.definition.type, of: session, on: connection)
        return OpenRequest(number: number, payload: payload)
    }

    private func kind(of frame: ReceivedFrame, _ session: Session?, on connection: Connection) -> PendingRequest.Kind {
        switch (frame.definition.type, session) {
        case (RegisterProof.definition.type, _), (GuestProof.definition.type, _): .login(from: connection.address)
        case (SessionRefresh.definition.type, let session?): .refresh(tokenHash: session.tokenHash)
        default: .frame
        }
    }

    /// Logs a new request. Messages have log lines of their own.
    private func log(_ number: UInt64, _ type: String, of session: Session?, on connection: Connection) {
        self.logger.debug(
            "question asked",
            [
                .trace: "\(AnswerAddress(node: self.node, question: number).trace)", .frame: "\(type)",
                .connId: .number(connection.id.value), .whisperId: "\(session?.caller.identity.description ?? "")",
                .deviceId: "\(session?.device.description ?? "")",
            ])
    }

    /// Says something to a service that needs no answer.
    func tell(_ service: ServiceName, _ body: ServiceRequest.Body, on connection: Connection) {
        self.send(
            ServiceRequest(
                answer: AnswerAddress(node: self.node, question: 0), connection: connection.id,
                session: connection.session, body: body),
            to: service, number: nil)
    }

    func send(_ request: ServiceRequest, to service: ServiceName, number: UInt64?) {
        guard let stream = Keyspace.requests(to: service) else {
            // Our own bug: a frame is routed to a service that takes frames.
            assertionFailure("\(service.rawValue) takes no frames")
            self.logger.error("frame without a service", [.reason: "\(service.rawValue)"])
            if let number { self.failed(number, because: .busFailed) }
            return
        }
        self.bus.append(request, to: stream) { _ in
            guard let number else { return }
            self.assumeIsolated { $0.failed(number, because: .busFailed) }
        }
    }

    // MARK: Failures

    func failed(_ number: UInt64, because reason: FailureReason) {
        guard let request = self.pendingRequests.answered(number) else { return }
        self.failed(request, number, because: reason)
    }

    func failed(_ request: PendingRequest, _ number: UInt64, because reason: FailureReason) {
        self.rates.settle(request, with: nil, self)
        guard let connection = self.connections[request.connection] else { return }
        self.log(request, number, because: reason)
        switch request.kind {
        case .session, .guest: return self.lookUpFailed(on: request.connection)
        case .guestCheck: return
        default: break
        }
        // A router may still read the page later. It would believe that the client has it, and send newer mail live
        // before the client has read that page. So nothing goes live until the router knows how far the client is.
        if case .fetch = request.kind { connection.deliveryCursor.mayHaveMissed() }
        self.refuse(connection, .unavailable, requestID: request.requestID)
    }

    /// Refuses what is not even asked.
    func fail(_ connection: Connection, because reason: FailureReason, requestID: String?) {
        self.log(failureOn: connection.id, because: reason)
        self.refuse(connection, .unavailable, requestID: requestID)
    }

    private func log(_ request: PendingRequest, _ number: UInt64, because reason: FailureReason) {
        var facts: Facts = [.trace: "\(AnswerAddress(node: self.node, question: number).trace)"]
        if case .accept(let messageID, _) = request.kind { facts[.messageId] = "\(messageID)" }
        self.log(failureOn: request.connection, because: reason, facts)
    }

    /// Every INTERNAL_ERROR is logged once, where its cause is known.
    func log(failureOn connection: ConnectionID, because reason: FailureReason, _ facts: Facts = [:]) {
        guard self.failures.admits() else { return }
        var facts = facts
        facts[.code] = "\(ErrorCode.internalError.rawValue)"
        facts[.reason] = "\(reason.rawValue)"
        facts[.connId] = .number(connection.value)
        self.logger.warning("request not answered", facts)
    }

    func logFailuresLeftOut() {
        let count = self.failures.secondPassed()
        if count > 0 { self.logger.warning("more requests not answered", [.count: .number(count)]) }
    }
}
