import Bus
import Contract
import NIOCore
import ServerCrypto
import Telemetry

/// What clients say. The order of the checks is that of contract §3.
extension Gateway {
    func receive(_ message: [UInt8], on connection: Connection) {
        guard isValidUTF8(message) else { return self.close(connection, .invalidText) }
        let envelope: FrameDecoder.Envelope
        let definition: FrameDefinition
        let payload: Payload
        do throws(FrameDecoder.Failure) {
            envelope = try FrameDecoder.envelope(of: message)
            (definition, payload) = try Self.decode(envelope, of: message)
        } catch {
            self.refuse(connection, Refusal(.invalidPayload, "\(error.violation)"), requestID: error.requestID)
            return self.countInvalid(on: connection)
        }
        var frame = ReceivedFrame(
            definition: definition, payload: payload, requestID: envelope.requestID, bytes: message.count)
        if let retryAfter = connection.bucket.take(self.limits.frames, at: self.now) {
            return self.refuse(
                connection, Refusal(.rateLimited, "too many frames", retryAfterMilliseconds: retryAfter),
                requestID: frame.requestID)
        }
        // Once: a frame that waits may be looked at many times.
        if definition.isPrivileged { frame.tokenHash = Self.tokenHash(of: frame) }
        self.handle(frame, on: connection)
    }

    private static func decode(
        _ envelope: FrameDecoder.Envelope, of message: [UInt8]
    ) throws(FrameDecoder.Failure) -> (FrameDefinition, Payload) {
        do throws(PayloadViolation) {
            guard let definition = FrameCatalogue.definition(of: envelope.type) else {
                throw PayloadViolation("type", "is not a frame of this protocol")
            }
            let payload = try FrameDecoder.payload(envelope, of: message, schema: definition.schema)
            if let violation = definition.rule(payload) { throw violation }
            return (definition, payload)
        } catch {
            throw FrameDecoder.Failure(violation: error, requestID: envelope.requestID)
        }
    }

    private func countInvalid(on connection: Connection) {
        let now = self.now
        if now - connection.invalidSince > 60_000 {
            connection.invalidSince = now
            connection.invalidFrames = 0
        }
        connection.invalidFrames += 1
        if Int(connection.invalidFrames) > Limits.invalidFramesPerMinuteMax { self.close(connection, .abuse) }
    }

    func handle(_ frame: ReceivedFrame, on connection: Connection) {
        if let transition = connection.transition, transition.awaitsUses {
            return self.wait(frame, in: transition, on: connection)
        }
        guard frame.definition.isPrivileged else { return self.handleUnprivileged(frame, on: connection) }
        if let transition = connection.transition, transition.resolving != nil {
            return self.wait(frame, in: transition, on: connection)
        }
        switch self.authenticate(frame, on: connection) {
        case .session(let session): self.dispatch(frame, of: session, on: connection)
        case .resolve(let hash):
            // What a client has said before it left is handled, but only as the session that it had.
            guard connection.isOpen else { return }
            let transition = connection.transition ?? Transition()
            transition.resolving = hash
            transition.resolvingSince = self.now
            connection.transition = transition
            self.wait(frame, in: transition, on: connection)
            let (id, address) = (connection.id, connection.address)
            if self.knownTokens.take(hash) { return self.resolve(hash, for: id, from: nil) }
            self.admitLookUp(from: address) {
                $0.resolve(hash, for: id, from: address)
            } refused: {
                $0.resolveFailed(on: id, .overUnknownTokens($1))
            }
        case .refused(let refusal): self.refuse(connection, refusal, requestID: frame.requestID)
        }
    }

    func wait(_ frame: ReceivedFrame, in transition: Transition, on connection: Connection) {
        guard transition.waiting.count < GatewayLimits.framesWaitingMax,
            transition.waitingBytes + frame.bytes <= GatewayLimits.bytesWaitingMax
        else {
            return self.refuse(
                connection, Refusal(.internalError, "too many frames wait; safe to retry with the same id"),
                requestID: frame.requestID)
        }
        transition.waiting.append(frame)
        transition.waitingBytes += frame.bytes
        if transition.waitingBytes > GatewayLimits.heldBytesUncounted { self.memoryBudget.track(connection.id) }
    }

    // MARK: Frames without a session

    private func handleUnprivileged(_ frame: ReceivedFrame, on connection: Connection) {
        guard connection.isOpen else { return }
        switch frame.definition.route {
        case .gateway: self.pong(frame, on: connection)
        case .service(let service):
            if frame.definition.type == RegisterProof.definition.type {
                return self.check(proof: frame, on: connection)
            }
            guard let rate = frame.definition.rate else {
                self.ask(service, frame, session: nil, on: connection)
                return
            }
            self.admit(rate, connection) { $0.ask(service, frame, session: nil, on: $1) } refused: {
                $0.refuse(
                    $1, Refusal(.rateLimited, "too many of these from this address", retryAfterMilliseconds: $2),
                    requestID: frame.requestID)
            }
        case .mailbox, .ownMailbox: break  // Privileged, all of them: a mailbox is somebody's.
        }
    }

    /// Counts one use of a rate that all gateways share for an address, and goes on when the answer is there.
    func admit(
        _ rate: Rate, _ connection: Connection, then: @escaping @Sendable (isolated Gateway, Connection) -> Void,
        refused: @escaping @Sendable (isolated Gateway, Connection, Int64) -> Void
    ) {
        let (id, address) = (connection.id, connection.address)
        // Bare: it lasts no longer than one answer of the bus, which has a limit of its own.
        Task {
            let wait = await self.limiter.admit(rate, "\(address)")
            guard let connection = self.connections[id], connection.isPresent else { return }
            if let wait { refused(self, connection, wait) } else { then(self, connection) }
        }
    }

    private func pong(_ frame: ReceivedFrame, on connection: Connection) {
        var payload = JSONWriter()
        let timestamp = frame.definition.field("timestamp")
        if frame.payload.has(timestamp) { payload.add("timestamp", frame.payload.integer(timestamp)) }
        payload.add("serverTime", Timestamp.now)
        self.reply(connection, type: "pong", payload: payload.finished(), requestID: frame.requestID)
    }

    // MARK: Sessions

    private enum Authentication {
        case session(Session)
        case resolve(Bytes32)
        case refused(Refusal)
    }

    private func authenticate(_ frame: ReceivedFrame, on connection: Connection) -> Authentication {
        guard let hash = frame.tokenHash else { return .refused(.notRegistered) }
        guard let session = connection.session else { return .resolve(hash) }
        if let retired = connection.transition?.retired, constantTimeEqual(retired, hash) {
            return .refused(.notRegistered)
        }
        if let transition = connection.transition, let successor = transition.successor {
            if constantTimeEqual(successor.tokenHash, hash) {
                // First use of the refreshed token: the old one ends, here at once and elsewhere when auth hears of it.
                connection.session = successor
                transition.successor = nil
                transition.retired = session.tokenHash
                self.tell(.auth, .sessionUsed(tokenHash: hash), on: connection)
                return self.checked(successor)
            }
            if self.now >= transition.oldTokenDiesAt, constantTimeEqual(session.tokenHash, hash) {
                return .refused(.notRegistered)
            }
        }
        if constantTimeEqual(session.tokenHash, hash) { return self.checked(session) }
        return .resolve(hash)
    }

    /// - Returns: `nil` if it carries none, or what cannot be one.
    private static func tokenHash(of frame: ReceivedFrame) -> Bytes32? {
        let field = frame.definition.sessionField!
        guard frame.payload.has(field) else { return nil }
        return frame.payload.withText(field) { Limits.sessionTokenCharacters.contains($0.count) ? SHA256.hash($0) : nil }
    }

    private func checked(_ session: Session) -> Authentication {
        if session.expiresAt <= .now { return .refused(.notRegistered) }
        if session.isBanned { return .refused(.banned) }
        return .session(session)
    }

    func endTransitionIfOver(of connection: Connection) {
        if connection.transition?.isOver == true { connection.transition = nil }
    }

    /// Asks the cache, then auth, whose token it is.
    private func resolve(_ hash: Bytes32, for id: ConnectionID, from address: ClientAddress?) {
        guard let connection = self.connections[id], connection.isOpen else {
            if let address { self.settle(address, isNobodys: false) }
            return
        }
        // Bare: it lasts no longer than one answer of the bus, which has a limit of its own.
        Task {
            // A cache that is away, empty, from another release or somebody else's is no answer: auth has one.
            let cached = try? await self.bus.get(Keyspace.session(hash))
            if let cached, let session = try? Session(decoding: cached), session.tokenHash == hash {
                if let address { self.settle(address, isNobodys: session.expiresAt <= .now) }
                self.resolved(session, on: id)
            } else {
                self.askWhose(hash, for: id, from: address)
            }
        }
    }

    private func askWhose(_ hash: Bytes32, for id: ConnectionID, from address: ClientAddress?) {
        guard let connection = self.connections[id], connection.isOpen else {
            if let address { self.settle(address, isNobodys: false) }
            return
        }
        let number = self.pendingRequests.add(
            .init(connection: id, requestID: nil, kind: .session(tokenHash: hash, from: address)), at: self.now)
        self.send(
            .init(
                answer: AnswerAddress(node: self.node, question: number), connection: id, session: nil,
                body: .session(tokenHash: hash)),
            to: .auth, number: number)
    }

    /// - Parameter session: `nil` if the token is nobody's.
    func resolved(_ session: Session?, on id: ConnectionID) {
        guard let connection = self.connections[id], connection.isOpen, let transition = connection.transition,
            let hash = transition.resolving
        else { return }
        guard session == nil || session?.tokenHash == hash else {
            // Whoever mixed it up: nobody becomes somebody else.
            self.logger.error("session of another token", [.connId: .number(id.value)])
            return self.resolveFailed(on: id)
        }
        transition.resolving = nil
        let waiting = transition.takeWaiting()
        self.endTransitionIfOver(of: connection)
        guard let session, session.expiresAt > .now, !connection.isPast(session) else {
            return self.refuse(waiting, with: hash, .notRegistered, on: connection)
        }
        if let own = connection.session, own.caller.identity != session.caller.identity {
            self.refuse(
                connection, Refusal(.authFailed, "the connection belongs to another identity"),
                requestID: waiting.first?.requestID)
            return self.close(connection, .sessionReplaced)
        }
        if session.isBanned {
            self.refuse(connection, .banned, requestID: waiting.first?.requestID)
            return self.close(connection, .banned)
        }
        if connection.session?.caller.epoch == session.caller.epoch {
            connection.session = session
        } else {
            self.bind(connection, to: session, since: transition.resolvingSince)
        }
        // Each is checked again: it need not carry the token that was looked up.
        for frame in waiting where connection.isOpen { self.handle(frame, on: connection) }
    }

    /// Refuses those that carry the token that was looked up; the others are checked.
    private func refuse(_ frames: [ReceivedFrame], with hash: Bytes32, _ refusal: Refusal, on connection: Connection) {
        for frame in frames {
            if let own = frame.tokenHash, constantTimeEqual(own, hash) {
                self.refuse(connection, refusal, requestID: frame.requestID)
            } else {
                self.handle(frame, on: connection)
            }
        }
    }

    /// The lookup failed, or was not allowed; nothing is known about the token.
    func resolveFailed(on id: ConnectionID, _ refusal: Refusal = .unavailable) {
        guard let connection = self.connections[id], let transition = connection.transition,
            let hash = transition.resolving
        else { return }
        transition.resolving = nil
        let waiting = transition.takeWaiting()
        self.endTransitionIfOver(of: connection)
        self.refuse(waiting, with: hash, refusal, on: connection)
    }

    // MARK: Dispatch

    private func dispatch(_ frame: ReceivedFrame, of session: Session, on connection: Connection) {
        if let from = frame.definition.schema.index(of: "from"),
            frame.payload.whisperID(from) != session.caller.identity
        {
            return self.refuse(
                connection, Refusal(.forbidden, "from must be the session's own id"), requestID: frame.requestID)
        }
        var wait: Int64?
        if let rate = frame.definition.rate {
            switch self.take(rate, session.caller.identity) {
            case .admitted: break
            case .refused(let milliseconds): wait = milliseconds
            case .unknown: return self.awaitUses(frame, on: connection)
            }
        }
        // Nobody waits for the answer to a keystroke.
        if wait != nil, frame.definition.type == Typing.definition.type { return }
        // Messages are refused by the router, which knows whether this is one that it has accepted before.
        if let wait, !frame.definition.isAccepted {
            return self.refuse(
                connection, Refusal(.rateLimited, "too many of these", retryAfterMilliseconds: wait),
                requestID: frame.requestID)
        }
        switch frame.definition.route {
        case .gateway: self.pong(frame, on: connection)
        case .service(.calls): self.call(frame, of: session, on: connection)
        case .service(let service): self.ask(service, frame, session: session, on: connection)
        case .mailbox, .ownMailbox: self.mail(frame, of: session, overRateFor: wait, on: connection)
        }
    }

    /// Frames that change or read a mailbox become Jobs of its partition.
    private func mail(
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
            self.append(.fetch(request), to: partition) { $0.failed(number) }
            self.log(number, frame.definition.type, of: session, on: connection)
        case DeliveryReceipt.definition.type:
            let receipt = DeliveryReceipt(frame.payload)
            let report = ReceiptReport(
                recipient: session.caller, sender: receipt.to, messageID: receipt.messageID, status: receipt.status,
                timestamp: receipt.timestamp)
            // A receipt that gets lost heals: the message is still pending, comes again, and is acknowledged again. Of what went out
            // in a page the router awaits no receipt until it is told how far the connection is.
            self.hold(.init(report: report, connection: connection.id), for: Partition(of: session.caller.identity))
            self.logger.debug(
                "receipt forwarded",
                [
                    .messageId: "\(receipt.messageID)", .whisperId: "\(session.caller.identity)",
                    .connId: .number(connection.id.value), .reason: "\(receipt.status)",
                ])
        case Typing.definition.type:
            let typing = Typing(frame.payload)
            let partition = Partition(of: typing.to)
            guard self.partitionDepth[partition.index] < GatewayLimits.partitionDepthMax else { return }
            let news = TypingNews(from: session.caller.identity, to: typing.to, isTyping: typing.isTyping)
            self.append(.typing(news), to: partition) { _ in }
        default:
            // A frame with a mailbox route and no Job is our own mistake.
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
        self.append(.accept(envelope), to: partition) { $0.failed(number) }
        self.logger.debug(
            "message forwarded",
            [
                .messageId: "\(message.messageID)", .whisperId: "\(session.caller.identity)",
                .deviceId: "\(session.device)", .connId: .number(connection.id.value), .partition: .number(partition.index),
                .trace: "\(envelope.answer.trace)",
            ])
    }

    /// - Returns: `nil` if the partition or the node has too much waiting; the client has been told.
    private func ask(
        _ kind: PendingRequest.Kind, _ partition: Partition, requestID: String?, on connection: Connection
    ) -> UInt64? {
        guard self.pendingRequests.count < GatewayLimits.pendingRequestsMax,
            self.partitionDepth[partition.index] < GatewayLimits.partitionDepthMax
        else {
            self.refuse(connection, .unavailable, requestID: requestID)
            return nil
        }
        return self.pendingRequests.add(
            .init(
                connection: connection.id, requestID: requestID, kind: kind, epoch: connection.session?.caller.epoch),
            at: self.now)
    }

    /// - Returns: whether the request is pending; if not, the client has been told.
    @discardableResult
    func ask(_ service: ServiceName, _ frame: ReceivedFrame, session: Session?, on connection: Connection) -> Bool {
        guard self.pendingRequests.count < GatewayLimits.pendingRequestsMax else {
            self.refuse(connection, .unavailable, requestID: frame.requestID)
            return false
        }
        guard let payload = self.passedOn(frame, on: connection) else { return false }
        let number = self.pendingRequests.add(
            .init(
                connection: connection.id, requestID: frame.requestID,
                kind: self.kind(of: frame, session, on: connection), epoch: session?.caller.epoch),
            at: self.now)
        self.log(number, frame.definition.type, of: session, on: connection)
        let token: [UInt8] = frame.definition.passesToken
            ? frame.payload.withText(frame.definition.sessionField!) { Array($0) } : []
        self.send(
            ServiceRequest(
                answer: AnswerAddress(node: self.node, question: number), connection: connection.id, session: session,
                presentedToken: token,
                body: .frame(type: frame.definition.type, payload: payload)),
            to: service, number: number)
        return true
    }

    private func kind(of frame: ReceivedFrame, _ session: Session?, on connection: Connection) -> PendingRequest.Kind {
        switch (frame.definition.type, session) {
        case (RegisterProof.definition.type, _): .login(from: connection.address)
        case (SessionRefresh.definition.type, let session?): .refresh(tokenHash: session.tokenHash)
        default: .frame
        }
    }

    /// Logs a new request. Messages have log lines of their own.
    func log(_ number: UInt64, _ type: String, of session: Session?, on connection: Connection) {
        self.logger.debug(
            "question asked",
            [
                .trace: "\(AnswerAddress(node: self.node, question: number).trace)", .frame: "\(type)",
                .connId: .number(connection.id.value), .whisperId: "\(session?.caller.identity.description ?? "")",
                .deviceId: "\(session?.device.description ?? "")",
            ])
    }

    /// Says something to a service that needs no answer.
    private func tell(_ service: ServiceName, _ body: ServiceRequest.Body, on connection: Connection) {
        self.send(
            ServiceRequest(
                answer: AnswerAddress(node: self.node, question: 0), connection: connection.id,
                session: connection.session, body: body),
            to: service, number: nil)
    }

    private func send(_ request: ServiceRequest, to service: ServiceName, number: UInt64?) {
        guard let stream = Keyspace.requests(to: service) else {
            // A frame routed to a service that takes none is our own mistake.
            self.logger.error("frame without a service", [.reason: "\(service.rawValue)"])
            if let number { self.failed(number) }
            return
        }
        self.bus.append(request, to: stream) { _ in
            guard let number else { return }
            self.assumeIsolated { $0.failed(number) }
        }
    }

    /// The request did not reach the bus, or waited too long.
    func failed(_ number: UInt64) {
        guard let request = self.pendingRequests.answered(number) else { return }
        self.failed(request)
    }

    func failed(_ request: PendingRequest) {
        self.settle(request, with: nil)
        if case .session = request.kind { return self.resolveFailed(on: request.connection) }
        guard let connection = self.connections[request.connection] else { return }
        // A router may still read the page later. It would believe that the client has it, and send newer mail live
        // before the client has read that page. So nothing goes live until the router knows how far the client is.
        if case .fetch = request.kind { connection.deliveryCursor.mayHaveMissed() }
        self.refuse(connection, .unavailable, requestID: request.requestID)
    }

    // MARK: Speaking

    func reply(_ connection: Connection, type: String, payload: [UInt8], requestID: String?) {
        var head = Array(#"{"type":""#.utf8)
        head += type.utf8
        head.append(UInt8(ascii: "\""))
        if let requestID {
            head += #","requestId":"#.utf8
            JSONWriter.append(string: requestID, to: &head)
        }
        head += #","payload":"#.utf8
        self.metrics.framesOut.increment()
        self.write(to: connection) { WebSocketWriter.text(head, payload, [UInt8(ascii: "}")], to: &$0) }
    }

    func refuse(_ connection: Connection, _ refusal: Refusal, requestID: String?) {
        self.metrics.errors.answered(refusal.code)
        var payload = JSONWriter()
        payload.add("code", refusal.code.rawValue)
        payload.add("message", refusal.message)
        payload.add("requestId", requestID)
        if let retryAfter = refusal.retryAfterMilliseconds { payload.add("retryAfterMs", retryAfter) }
        self.reply(connection, type: "error", payload: payload.finished(), requestID: requestID)
    }
}

extension Refusal {
    static let notRegistered = Refusal(.notRegistered, "no valid session; register first")
    /// - Parameter wait: milliseconds.
    static func overUnknownTokens(_ wait: Int64) -> Refusal {
        Refusal(
            .rateLimited, "too many unknown session tokens and failed logins from this address",
            retryAfterMilliseconds: wait)
    }

    static let banned = Refusal(.userBanned, "the identity is banned")
    static let unavailable = Refusal(.internalError, "not accepted; safe to retry with the same id")
}
