import ClusterContract
import Contract
import ServerCrypto
import Telemetry

/// Frames of clients: they are checked in the order of contract §3, and go to who handles them.
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
        let now = self.now
        if let retryAfter = connection.takeFrame(self.limits.frames, at: now) {
            return self.refuse(
                connection, Refusal(.rateLimited, "too many frames", retryAfterMilliseconds: retryAfter),
                requestID: frame.requestID)
        }
        // Once: a frame that waits may be looked at many times.
        frame.token = Self.token(of: frame)
        self.handle(frame, connection.machine.received(frame, at: now, wallClock: .now), on: connection)
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
        if connection.countInvalidFrame(at: self.now) { self.close(connection, .abuse) }
    }

    /// - Returns: `nil` if it carries none, or what cannot be one.
    private static func token(of frame: ReceivedFrame) -> ShownToken? {
        func hash(_ field: Int?) -> Bytes32? {
            guard let field, frame.payload.has(field) else { return nil }
            return frame.payload.withText(field) {
                Limits.sessionTokenCharacters.contains($0.count) ? SHA256.hash($0) : nil
            }
        }
        if let session = hash(frame.definition.sessionField) { return .session(session) }
        return hash(frame.definition.guestField).map { .guest($0) }
    }

    /// Does with the frame what its connection's session has decided.
    func handle(
        _ frame: ReceivedFrame, _ action: ConnectionSession.FrameAction, on connection: Connection
    ) {
        switch action {
        case .handle(let session, let isFirstUse):
            if isFirstUse {
                self.requests.tell(.auth, .sessionUsed(tokenHash: session.tokenHash), on: connection, self)
            }
            self.dispatch(frame, of: session, on: connection)
        case .handleAsGuest(let guest): self.dispatch(frame, of: guest, on: connection)
        case .handleWithoutSession: self.handleUnprivileged(frame, on: connection)
        case .lookUp(let token):
            self.memory.lookAtWaiting(of: connection)
            self.lookUps.lookUp(token, for: connection, self)
        case .refuse(let refusal):
            // A failed look-up was logged when it failed.
            if refusal == .tooManyWait { self.requests.log(failureOn: connection.id, because: .tooManyFramesWait) }
            self.refuse(connection, refusal, requestID: frame.requestID)
        case .wait: self.memory.lookAtWaiting(of: connection)
        case .ignore: break
        }
    }

    /// Handles the frames that have waited and may go on.
    func goOn(_ connection: Connection) {
        while let (frame, action) = connection.machine.next(at: self.now, wallClock: .now) {
            self.handle(frame, action, on: connection)
        }
    }

    // MARK: Frames without a session

    private func handleUnprivileged(_ frame: ReceivedFrame, on connection: Connection) {
        switch frame.definition.route {
        case .gateway: self.answer(frame, on: connection)
        case .service(let service):
            guard self.guests.mayProve(frame, on: connection, self) else {
                self.refuse(connection, .anotherPrincipal, requestID: frame.requestID)
                return self.close(connection, .sessionReplaced)
            }
            if frame.definition.isProof { return self.lookUps.check(proof: frame, on: connection, self) }
            guard let rate = frame.definition.rate else {
                self.requests.ask(service, frame, session: nil, on: connection, self)
                return
            }
            self.rates.admit(rate, connection, self) {
                self.requests.ask(service, frame, session: nil, on: $0, self)
            } refused: {
                self.refuse(
                    $0,
                    Refusal(.rateLimited, "too many frames of this kind from this address", retryAfterMilliseconds: $1),
                    requestID: frame.requestID)
            }
        case .mailbox, .ownMailbox, .share, .ownShare:
            // Our own bug: a mailbox is somebody's, and so is what concerns a conversation.
            assertionFailure("\(frame.definition.type) needs no session")
            self.logger.error("frame without a session", [.frame: "\(frame.definition.type)"])
            self.refuse(connection, .unavailable, requestID: frame.requestID)
        }
    }

    // MARK: Frames of guests

    private func dispatch(_ frame: ReceivedFrame, of guest: Guest, on connection: Connection) {
        guard case .admitted = self.admits(frame, of: .guest(guest.id), on: connection) else { return }
        switch frame.definition.route {
        case .gateway: self.answer(frame, on: connection)
        case .share, .ownShare: self.shareFrames.received(frame, of: .guest(guest), on: connection, self)
        case .service(.auth): self.requests.ask(.auth, frame, session: nil, on: connection, self)
        case .service, .mailbox, .ownMailbox:
            // These take no frames of guests.
            self.refuseUnhandled(frame, on: connection)
        }
    }

    // MARK: Frames with a session

    private func dispatch(_ frame: ReceivedFrame, of session: Session, on connection: Connection) {
        let identity = session.caller.identity
        guard case .admitted(let wait) = self.admits(frame, of: .identity(identity), on: connection) else { return }
        switch frame.definition.route {
        case .gateway: self.answer(frame, on: connection)
        case .service(.calls): self.calls.received(frame, of: session, on: connection, self)
        case .service(let service): self.requests.ask(service, frame, session: session, on: connection, self)
        case .share, .ownShare: self.shareFrames.received(frame, of: .session(session), on: connection, self)
        case .mailbox, .ownMailbox: self.mail.received(frame, of: session, overRateFor: wait, on: connection, self)
        }
    }

    private enum Admission {
        /// It goes on. A message may be over its rate: the router refuses it, unless it has accepted it before.
        case admitted(overRateFor: Int64?)
        /// It was refused or dropped, or waits for its rate.
        case ended
    }

    /// Checks whose the frame says it is, and its rate.
    private func admits(
        _ frame: ReceivedFrame, of principal: PrincipalID, on connection: Connection
    ) -> Admission {
        if let from = frame.definition.fromField, frame.payload.has(from),
            frame.payload.withText(from, { PrincipalID(ascii: $0) }) != principal
        {
            self.refuse(
                connection, Refusal(.forbidden, "from must be the sender's own id"), requestID: frame.requestID)
            return .ended
        }
        guard let rate = frame.definition.rate else { return .admitted(overRateFor: nil) }
        switch self.rates.take(rate, principal, self) {
        case .admitted: return .admitted(overRateFor: nil)
        case .refused(let milliseconds):
            // Nobody waits for the answer to a keystroke.
            if frame.definition.type == Typing.definition.type { return .ended }
            if frame.definition.isAccepted { return .admitted(overRateFor: milliseconds) }
            self.refuse(
                connection, Refusal(.rateLimited, "too many frames of this kind", retryAfterMilliseconds: milliseconds),
                requestID: frame.requestID)
            return .ended
        case .unknown:
            connection.machine.awaitUses(frame)
            self.memory.lookAtWaiting(of: connection)
            return .ended
        }
    }
}

extension FrameDefinition {
    /// A login or a guest's proof. Failed ones count against their address.
    fileprivate var isProof: Bool {
        self.type == RegisterProof.definition.type || self.type == GuestProof.definition.type
    }
}
