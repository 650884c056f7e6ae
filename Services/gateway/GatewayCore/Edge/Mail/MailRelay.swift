import ClusterContract
import Contract
import ServerCrypto
import Telemetry

/// Relays mail: frames of senders and readers become Jobs of a mailbox's partition, and mail from routers goes to its reader.
struct MailRelay {
    let node: NodeID
    let jobs: MailboxJobs
    let requests: Requests
    let announcer: Announcer
    let metrics: GatewayMetrics

    // MARK: Frames of clients

    /// Frames that change or read a mailbox become Jobs of its partition.
    func received(
        _ frame: ReceivedFrame, of session: Session, overRateFor wait: Int64?, on connection: Connection,
        _ host: isolated some RequestHost
    ) {
        switch frame.definition.type {
        case SendMessage.definition.type:
            let message = host.read(frame, on: connection) { payload throws(Payload.Corrupted) in
                try SendMessage(payload).envelope
            }
            guard let message else { return }
            self.accept(message, requestID: frame.requestID, of: session, overRateFor: wait, on: connection, host)
        case GroupSendMessage.definition.type:
            let message = host.read(frame, on: connection) { payload throws(Payload.Corrupted) in
                try GroupSendMessage(payload).envelope
            }
            guard let message else { return }
            self.accept(message, requestID: frame.requestID, of: session, overRateFor: wait, on: connection, host)
        case FetchPending.definition.type: self.fetch(frame, of: session, on: connection, host)
        case DeliveryReceipt.definition.type: self.receipt(frame, of: session, on: connection, host)
        case Typing.definition.type:
            let typing = Typing(frame.payload)
            let partition = Partition(of: typing.to)
            guard !self.jobs.isFull(partition) else { return }
            let news = TypingNews(from: session.caller.identity, to: typing.to, isTyping: typing.isTyping)
            self.jobs.append(.typing(news), to: partition, host)
        default:
            // Our own bug: a frame with a mailbox route has a Job.
            assertionFailure("\(frame.definition.type) has no job")
            host.logger.error("frame without a job", [.frame: "\(frame.definition.type)"])
            host.refuse(connection, .unavailable, requestID: frame.requestID)
        }
    }

    /// Has the router of the recipient's mailbox accept a message.
    private func accept(
        _ message: SignedEnvelope, requestID: String?, of session: Session, overRateFor wait: Int64?,
        on connection: Connection, _ host: isolated some RequestHost
    ) {
        let partition = Partition(of: message.to)
        let kind = PendingRequest.Kind.accept(
            messageID: message.messageID, groupRecipient: message.groupID == nil ? nil : message.to)
        guard let number = self.open(kind, partition, requestID: requestID, on: connection, host) else { return }
        let digest = SHA256()
        message.canonicalBytes { digest.update($0) }
        let envelope = AcceptEnvelope(
            answer: AnswerAddress(node: self.node, question: number), sender: session.caller,
            senderKey: session.signPublicKey, messageID: message.messageID, to: message.to, group: message.groupID,
            timestamp: message.timestamp, signature: message.signature, digest: digest.finish(),
            payload: message.relayed(), receivedAt: .now, overRateFor: wait, attachmentKey: message.attachmentKey)
        self.append(.accept(envelope), to: partition, number, host)
        host.logger.debug(
            "message forwarded",
            [
                .messageId: "\(message.messageID)", .whisperId: "\(session.caller.identity)",
                .deviceId: "\(session.device)", .connId: .number(connection.id.value),
                .partition: .number(partition.index),
                .trace: "\(envelope.answer.trace)",
            ])
    }

    private func fetch(
        _ frame: ReceivedFrame, of session: Session, on connection: Connection, _ host: isolated some RequestHost
    ) {
        let fetch = FetchPending(frame.payload)
        let partition = Partition(of: session.caller.identity)
        guard let number = self.open(.fetch, partition, requestID: frame.requestID, on: connection, host) else {
            return
        }
        let request = FetchRequest(
            answer: AnswerAddress(node: self.node, question: number), connection: connection.id,
            caller: session.caller, after: fetch.cursor?.after ?? 0, limit: fetch.limit)
        self.append(.fetch(request), to: partition, number, host)
        self.requests.log(number, frame.definition.type, of: session, on: connection)
    }

    private func receipt(
        _ frame: ReceivedFrame, of session: Session, on connection: Connection, _ host: isolated some EdgeHost
    ) {
        let receipt = DeliveryReceipt(frame.payload)
        let report = ReceiptReport(
            recipient: session.caller, sender: receipt.to, messageID: receipt.messageID, status: receipt.status,
            timestamp: receipt.timestamp)
        // A receipt that gets lost heals: the message is still pending, comes again, and is acknowledged again. For mail
        // of a page the router awaits no receipt until it is told how far the connection is.
        self.jobs.hold(
            .init(report: report, connection: connection.id), for: Partition(of: session.caller.identity), host)
        host.logger.debug(
            "receipt forwarded",
            [
                .messageId: "\(receipt.messageID)", .whisperId: "\(session.caller.identity)",
                .connId: .number(connection.id.value), .reason: "\(receipt.status)",
            ])
    }

    /// - Returns: `nil` if the partition or the node has too much waiting; the client has been told.
    private func open(
        _ kind: PendingRequest.Kind, _ partition: Partition, requestID: String?, on connection: Connection,
        _ host: isolated some RequestHost
    ) -> UInt64? {
        guard !self.requests.isFull, !self.jobs.isFull(partition) else {
            self.requests.fail(
                connection, because: self.requests.isFull ? .tooManyRequests : .partitionFull, requestID: requestID,
                host)
            return nil
        }
        return self.requests.add(
            .init(
                connection: connection.id, requestID: requestID, kind: kind, epoch: connection.session?.caller.epoch),
            at: host.now)
    }

    private func append(
        _ job: MailboxJob, to partition: Partition, _ number: UInt64, _ host: isolated some RequestHost
    ) {
        self.jobs.append(job, to: partition, host) { _ in
            host.assumeIsolated { $0.failed(number, because: .busFailed) }
        }
    }

    // MARK: Mail of routers

    func deliver(_ mail: [Mail], to connection: Connection, again: Bool, _ host: isolated some EdgeHost) {
        // A client that gets mail need not wait for the turn that a paced announcement would have.
        if connection.deliveryCursor.isAnnouncementDue(at: host.now) { self.announcer.announce(connection, host) }
        for message in mail where connection.deliveryCursor.takes(message.number, again: again) {
            self.metrics.framesOut.increment()
            host.write(to: connection) {
                WebSocketWriter.text(
                    MessageReceived.definition.head, message.payload, ServerFrameDefinition.tail, to: &$0)
            }
            host.logger.debug(
                "message written", [.messageId: "\(message.messageID)", .connId: .number(connection.id.value)])
        }
    }

    func deliver(
        page mail: [Mail], next: Cursor?, to connection: Connection, requestID: String?, _ host: isolated some EdgeHost
    ) {
        for message in mail {
            host.logger.debug(
                "message written in a page",
                [.messageId: "\(message.messageID)", .connId: .number(connection.id.value)])
        }
        connection.deliveryCursor.paged(through: mail.last?.number, isLast: next == nil)
        let payload = PendingMessages.json(messages: mail.map(\.payload), nextCursor: next?.text)
        host.reply(connection, type: PendingMessages.type, payload: payload, requestID: requestID)
    }
}

extension Mail {
    /// For the log alone.
    fileprivate var messageID: String { SignedEnvelope.messageID(inRelayed: self.payload) }
}
