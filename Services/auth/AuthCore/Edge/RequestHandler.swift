package import ClusterContract
import Contract
package import Jobs
package import Logging
import Store
import Telemetry

/// Answers the frames and questions that gateways send to auth.
package struct RequestHandler: Sendable {
    private let registration: Registration
    private let sessions: SessionService
    private let leaving: Leaving
    private let guests: GuestProving
    private let operators: any OperatorRecords
    private let directory: SessionDirectory
    private let logger: Logger

    package init(
        registration: Registration, sessions: SessionService, leaving: Leaving, guests: GuestProving,
        operators: any OperatorRecords,
        directory: SessionDirectory, logger: Logger
    ) {
        self.registration = registration
        self.sessions = sessions
        self.leaving = leaving
        self.guests = guests
        self.operators = operators
        self.directory = directory
        self.logger = logger
    }

    /// Never fails: what goes wrong becomes INTERNAL_ERROR, or `later` where nobody waits.
    /// - Parameter end: a login is not begun later (`ClusterLimits.frameAgeMax`).
    package func handle(_ request: ServiceRequest, until end: ContinuousClock.Instant) async -> Reaction {
        do throws(HandlingError) {
            switch request.body {
            case .session(let tokenHash):
                let session = try await atStore { () async throws(StoreError) in
                    try await self.directory.read(tokenHash)
                }
                return .answer(.session(session), then: nil)
            case .guest(let tokenHash):
                return .answer(.guest(try await self.guests.guest(tokenHash)), then: nil)
            case .sessionUsed(let tokenHash):
                try await self.sessions.used(tokenHash)
                return .done
            case .guestMoved(let move):
                return .tell(
                    move.from.node, .guestMoved(move.from.connection, epoch: move.epoch, age: move.age))
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
            self.logger.error("frame is not for auth", [.trace: "\(request.answer.trace)", .frame: "\(type)"])
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
            guard let begin = try? RegisterBegin(payload) else { return self.corrupted(type, request) }
            return .answer(try await self.registration.begin(begin, node: node, connection: connection), then: nil)
        case RegisterProof.definition.type:
            guard let proof = try? RegisterProof(payload) else { return self.corrupted(type, request) }
            return try await self.registration.prove(proof, node: node, connection: connection, until: end)
        case GuestBegin.definition.type:
            guard let begin = try? GuestBegin(payload) else { return self.corrupted(type, request) }
            return .answer(try await self.guests.begin(begin, node: node, connection: connection), then: nil)
        case GuestProof.definition.type:
            guard let proof = try? GuestProof(payload) else { return self.corrupted(type, request) }
            return try await self.guests.prove(proof, node: node, connection: connection, until: end)
        case GuestForget.definition.type:
            guard let token = SessionToken(shown: request.presentedToken) else {
                return .answer(Replies.notRegistered, then: nil)
            }
            return try await self.leaving.erase(try await self.guests.guest(token.hash), until: end)
        default:
            guard let session = request.session else { return .answer(Replies.notRegistered, then: nil) }
            return try await self.privileged(type, payload, of: session, request, until: end)
        }
    }

    private func privileged(
        _ type: String, _ payload: Payload, of session: Session, _ request: ServiceRequest,
        until end: ContinuousClock.Instant
    ) async throws(HandlingError) -> Reaction {
        switch type {
        case SessionRefresh.definition.type:
            guard let token = SessionToken(shown: request.presentedToken) else {
                return .answer(Replies.notRegistered, then: nil)
            }
            return .answer(try await self.sessions.refresh(token), then: nil)
        case Logout.definition.type:
            guard let epoch = try await self.sessions.logout(session) else { return .answer(.stale, then: nil) }
            // The other way round the connection would hear that it was replaced before it hears the acknowledgement.
            return .answer(
                Replies.logoutAck, then: .sessionsEnded(session.caller.identity, before: epoch, why: .replaced))
        case AccountDeleteBegin.definition.type:
            return .answer(
                try await self.leaving.begin(session, node: request.answer.node, connection: request.connection),
                then: nil)
        case AccountDelete.definition.type:
            guard let frame = try? AccountDelete(payload) else { return self.corrupted(type, request) }
            return try await self.leaving.erase(
                frame, of: session, node: request.answer.node, connection: request.connection, until: end)
        case UpdateTokens.definition.type:
            guard let update = try? UpdateTokens(payload) else { return self.corrupted(type, request) }
            return .answer(try await self.sessions.update(update, of: session), then: nil)
        case Report.definition.type:
            guard let report = try? Report(payload) else { return self.corrupted(type, request) }
            let answer = try await atStore { () async throws(StoreError) in
                try await self.operators.file(report, of: session, question: request.answer)
            }
            return .answer(answer, then: nil)
        default:
            assertionFailure("no handler for \(type)")
            self.logger.error("frame without a handler", [.trace: "\(request.answer.trace)", .frame: "\(type)"])
            return .answer(Replies.internalError, then: nil)
        }
    }

    /// Our own bug: the payload satisfies its schema.
    private func corrupted(_ type: String, _ request: ServiceRequest) -> Reaction {
        assertionFailure("payload of \(type) is corrupted")
        self.logger.error("payload is corrupted", [.trace: "\(request.answer.trace)", .frame: "\(type)"])
        return .answer(Replies.internalError, then: nil)
    }

    private func log(_ error: HandlingError, _ request: ServiceRequest) {
        let frame = if case .frame(let type, _) = request.body { type } else { "" }
        let facts: Facts = [.trace: "\(request.answer.trace)", .frame: "\(frame)", .error: "\(error)"]
        if error.isPassing {
            self.logger.warning("question not answered", facts)
        } else {
            self.logger.error("question not answered", facts)
        }
    }
}
