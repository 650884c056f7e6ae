import Bus
import ClusterContract
import Contract
import Logging
import Telemetry

/// Requests of one gateway to other services, which answer with a Notice.
final class Requests {
    private let node: NodeID
    private let bus: any Bus
    private let logger: Logger
    private var pending = PendingRequests()
    private var failures = FailureLog()

    init(node: NodeID, bus: any Bus, logger: Logger) {
        self.node = node
        self.bus = bus
        self.logger = logger
    }

    var count: Int { self.pending.count }

    /// Whether so many wait for an answer that nothing more is asked.
    var isFull: Bool { self.pending.count >= GatewayLimits.pendingRequestsMax }

    /// Whether this connection has asked for a session.
    func changesSession(_ connection: ConnectionID) -> Bool { self.pending.changesSession(connection: connection) }

    // MARK: Opening

    /// Opens a request.
    /// - Returns: its number.
    func add(_ request: PendingRequest, at now: Int64) -> UInt64 { self.pending.add(request, at: now) }

    /// Opens a request for a frame that another service answers.
    /// - Returns: its number, and the payload as services get it; `nil` if the client has been refused.
    func open(
        for frame: ReceivedFrame, _ kind: PendingRequest.Kind = .frame, of session: Session?, on connection: Connection,
        _ host: isolated some EdgeHost
    ) -> (number: UInt64, payload: [UInt8])? {
        guard !self.isFull else {
            self.fail(connection, because: .tooManyRequests, requestID: frame.requestID, host)
            return nil
        }
        guard let payload = host.passedOn(frame, on: connection) else { return nil }
        let number = self.add(
            .init(connection: connection.id, requestID: frame.requestID, kind: kind, epoch: session?.caller.epoch),
            at: host.now)
        self.log(number, frame.definition.type, of: session, on: connection)
        return (number, payload)
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

    // MARK: Services

    /// - Returns: whether the request is pending; if not, the client has been told.
    @discardableResult
    func ask(
        _ service: ServiceName, _ frame: ReceivedFrame, session: Session?, on connection: Connection,
        _ host: isolated some RequestHost
    ) -> Bool {
        let kind = Self.kind(of: frame, session, on: connection)
        guard let (number, payload) = self.open(for: frame, kind, of: session, on: connection, host) else {
            return false
        }
        let token: [UInt8] =
            frame.definition.passesToken
            ? frame.payload.withText((frame.definition.sessionField ?? frame.definition.guestField)!) { Array($0) }
            : []
        self.send(
            ServiceRequest(
                answer: AnswerAddress(node: self.node, question: number), connection: connection.id, session: session,
                presentedToken: token, body: .frame(type: frame.definition.type, payload: payload)),
            to: service, host)
        return true
    }

    private static func kind(
        of frame: ReceivedFrame, _ session: Session?, on connection: Connection
    ) -> PendingRequest.Kind {
        switch (frame.definition.type, session) {
        case (RegisterProof.definition.type, _), (GuestProof.definition.type, _): .login(from: connection.address)
        case (AccountDelete.definition.type, _), (GuestForget.definition.type, _), (Logout.definition.type, _):
            .farewell
        case (SessionRefresh.definition.type, let session?): .refresh(tokenHash: session.tokenHash)
        default: .frame
        }
    }

    /// Asks auth about a token.
    func ask(
        _ kind: PendingRequest.Kind, _ body: ServiceRequest.Body, for id: ConnectionID,
        _ host: isolated some RequestHost
    ) {
        let number = self.add(.init(connection: id, requestID: nil, kind: kind), at: host.now)
        self.send(
            .init(answer: AnswerAddress(node: self.node, question: number), connection: id, session: nil, body: body),
            to: .auth, host)
    }

    /// Sends a service something that needs no answer.
    func tell(
        _ service: ServiceName, _ body: ServiceRequest.Body, on connection: Connection,
        _ host: isolated some RequestHost
    ) {
        self.send(
            ServiceRequest(
                answer: AnswerAddress(node: self.node, question: 0), connection: connection.id,
                session: connection.session, body: body),
            to: service, host)
    }

    private func send(_ request: ServiceRequest, to service: ServiceName, _ host: isolated some RequestHost) {
        // 0: no answer is expected. No open request has this number.
        let number = request.answer.question
        guard let stream = Keyspace.requests(to: service) else {
            // Our own bug: a frame is routed to a service that takes frames.
            assertionFailure("\(service.rawValue) takes no frames")
            self.logger.error("frame without a service", [.reason: "\(service.rawValue)"])
            return self.failed(number, because: .busFailed, host)
        }
        self.bus.append(request, to: stream) { _ in
            host.assumeIsolated { $0.failed(number, because: .busFailed) }
        }
    }

    // MARK: Answers and failures

    /// An answer has come.
    /// - Returns: `nil` if it comes too late, or twice.
    func answered(_ number: UInt64, _ answer: Answer, _ host: isolated some EdgeHost) -> PendingRequest? {
        guard let request = self.pending.answered(number) else { return nil }
        self.logger.debug("question answered", self.facts(of: answer, to: request, number, host))
        return request
    }

    /// An answer that does not fit its request is a bug of the service that sent it.
    func logUnfit(_ answer: Answer, to request: PendingRequest, _ number: UInt64, _ host: isolated some EdgeHost) {
        self.logger.error("answer does not fit", self.facts(of: answer, to: request, number, host))
    }

    private func facts(
        of answer: Answer, to request: PendingRequest, _ number: UInt64, _ host: isolated some EdgeHost
    ) -> Facts {
        var facts: Facts = [
            .trace: "\(AnswerAddress(node: self.node, question: number).trace)",
            .connId: .number(request.connection.value),
            .latencyMs: .number(host.now - request.askedAt),
        ]
        if case .refused(let refusal) = answer { facts[.code] = "\(refusal.code.rawValue)" }
        return facts
    }

    /// The request did not reach the bus.
    func failed(_ number: UInt64, because reason: FailureReason, _ host: isolated some RequestHost) {
        guard let request = self.pending.answered(number) else { return }
        self.failed(request, number, because: reason, host)
    }

    private func failed(
        _ request: PendingRequest, _ number: UInt64, because reason: FailureReason, _ host: isolated some RequestHost
    ) {
        if host.connection(request.connection) != nil {
            var facts: Facts = [.trace: "\(AnswerAddress(node: self.node, question: number).trace)"]
            if case .accept(let messageID, _) = request.kind { facts[.messageId] = "\(messageID)" }
            self.log(failureOn: request.connection, because: reason, facts)
        }
        host.ended(request)
    }

    /// Refuses what is not even asked.
    func fail(
        _ connection: Connection, because reason: FailureReason, requestID: String?, _ host: isolated some EdgeHost
    ) {
        self.log(failureOn: connection.id, because: reason)
        host.refuse(connection, .unavailable, requestID: requestID)
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

    /// Runs once a second: ends requests that have waited for too long.
    func check(_ host: isolated some RequestHost) {
        while let (number, request) = self.pending.popExpired(at: host.now) {
            self.failed(request, number, because: .noAnswer, host)
        }
        let count = self.failures.secondPassed()
        if count > 0 { self.logger.warning("more requests not answered", [.count: .number(count)]) }
    }
}
