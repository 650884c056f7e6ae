package import Contract
package import Logging
import Store
import Telemetry

/// What one Job comes to.
package enum Reaction: Sendable {
    /// - then: published after the answer has been.
    case answer(Answer, then: ClusterNotice?)
    /// Done; nobody waits for an answer.
    case done
    /// Not done; to be taken again.
    case later
}

/// Answers the frames and questions that gateways send to auth.
package struct RequestHandler: Sendable {
    private let registration: Registration
    private let sessions: SessionService
    private let operators: any OperatorRecords
    private let directory: SessionDirectory
    private let logger: Logger

    package init(
        registration: Registration, sessions: SessionService, operators: any OperatorRecords,
        directory: SessionDirectory, logger: Logger
    ) {
        self.registration = registration
        self.sessions = sessions
        self.operators = operators
        self.directory = directory
        self.logger = logger
    }

    /// Never fails: what goes wrong becomes INTERNAL_ERROR, or `later` where nobody waits.
    /// - Parameter end: a login is not begun later (`ServiceRequest.frameAgeMax`).
    package func handle(_ request: ServiceRequest, until end: ContinuousClock.Instant) async -> Reaction {
        do throws(HandlingError) {
            switch request.body {
            case .session(let tokenHash):
                let session = try await atStore { () async throws(StoreError) in try await self.directory.read(tokenHash) }
                return .answer(.session(session), then: nil)
            case .sessionUsed(let tokenHash):
                try await self.sessions.used(tokenHash)
                return .done
            case .frame(let type, let payload):
                return try await self.frame(type, payload, request, until: end)
            }
        } catch {
            self.log(error, request)
            if case .sessionUsed = request.body { return error.isPassing ? .later : .done }
            return .answer(Replies.internalError, then: nil)
        }
    }

    private func frame(
        _ type: String, _ bytes: [UInt8], _ request: ServiceRequest, until end: ContinuousClock.Instant
    ) async throws(HandlingError) -> Reaction {
        guard let definition = FrameCatalogue.definition(of: type), case .service(.auth) = definition.route else {
            self.logger.error("frame is not for auth", [.frame: "\(type)"])
            return .answer(Replies.internalError, then: nil)
        }
        let payload: Payload
        do {
            payload = try FrameDecoder.payload(bare: bytes, schema: definition.schema)
        } catch {
            return .answer(.refused(Refusal(.invalidPayload, "\(error)")), then: nil)
        }
        let (node, connection) = (request.answer.node, request.connection)
        switch type {
        case RegisterBegin.definition.type:
            let begin = RegisterBegin(payload)
            return .answer(try await self.registration.begin(begin, node: node, connection: connection), then: nil)
        case RegisterProof.definition.type:
            let proof = RegisterProof(payload)
            return try await self.registration.prove(proof, node: node, connection: connection, until: end)
        default:
            guard let session = request.session else { return .answer(Replies.notRegistered, then: nil) }
            return try await self.privileged(type, payload, of: session, request)
        }
    }

    private func privileged(
        _ type: String, _ payload: Payload, of session: Session, _ request: ServiceRequest
    ) async throws(HandlingError) -> Reaction {
        switch type {
        case SessionRefresh.definition.type:
            guard let token = SessionToken(shown: request.presentedToken) else { return .answer(Replies.notRegistered, then: nil) }
            return .answer(try await self.sessions.refresh(token), then: nil)
        case Logout.definition.type:
            guard let epoch = try await self.sessions.logout(session) else { return .answer(.stale, then: nil) }
            // The other way round the connection would hear that it was replaced before it hears the acknowledgement.
            return .answer(
                Replies.logoutAck, then: .sessionsEnded(session.caller.identity, before: epoch, why: .replaced))
        case UpdateTokens.definition.type:
            return .answer(try await self.sessions.update(UpdateTokens(payload), of: session), then: nil)
        case Report.definition.type:
            let report: Report
            do throws(Payload.Corrupted) {
                report = try Report(payload)
            } catch {
                assertionFailure("payload of \(type) is corrupted")
                self.logger.error("payload is corrupted", [.frame: "\(type)"])
                return .answer(Replies.internalError, then: nil)
            }
            let answer = try await atStore { () async throws(StoreError) in
                try await self.operators.file(report, of: session, question: request.answer)
            }
            return .answer(answer, then: nil)
        default:
            self.logger.error("frame without a handler", [.frame: "\(type)"])
            return .answer(Replies.internalError, then: nil)
        }
    }

    private func log(_ error: HandlingError, _ request: ServiceRequest) {
        let frame = if case .frame(let type, _) = request.body { type } else { "" }
        let facts: Facts = [.frame: "\(frame)", .error: "\(error)"]
        if error.isPassing {
            self.logger.warning("question not answered", facts)
        } else {
            self.logger.error("question not answered", facts)
        }
    }
}
