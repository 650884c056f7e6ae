import ClusterContract
import Contract
import ServerCrypto
import Telemetry

/// Answers `GET /mail`: an app that a push has woken looks at its mail without a connection (contract §5).
///
/// Nothing is bound. So the identity's connection stays, wherever it is, and no router takes the identity for present.
final class MailPeeks {
    private struct Peek {
        let token: Bytes32
        let limit: Int
        let bytes: Int
    }

    private let node: NodeID
    private let jobs: MailboxJobs
    private let lookUps: TokenLookUps
    private let memory: HeldMemory
    private let metrics: GatewayMetrics
    private let rates: RateGate
    private let requests: Requests
    private let upgrades: Upgrades
    /// Without an answer yet. `handshakeMax` ends each.
    private var waiting: [ConnectionID: Peek] = [:]

    init(
        node: NodeID, jobs: MailboxJobs, lookUps: TokenLookUps, memory: HeldMemory, metrics: GatewayMetrics,
        rates: RateGate, requests: Requests, upgrades: Upgrades
    ) {
        self.node = node
        self.jobs = jobs
        self.lookUps = lookUps
        self.memory = memory
        self.metrics = metrics
        self.rates = rates
        self.requests = requests
        self.upgrades = upgrades
    }

    func requested(
        _ request: UpgradeRequest, limit: Int, bytes: Int, by connection: Connection, _ host: isolated some LookUpHost
    ) {
        guard self.upgrades.learnsAddress(of: connection, from: request) else { return }
        let token = request.bearerToken.flatMap { Limits.sessionTokenCharacters.contains($0.count) ? $0 : nil }
        guard let token = token.map(SHA256.hash) else { return self.refuse(connection, .notRegistered, host) }
        self.waiting[connection.id] = Peek(token: token, limit: limit, bytes: bytes)
        self.rates.admit(Rates.mailPeeksOfAddress, connection, host) {
            self.lookUps.lookUp(.session(token), for: $0, host)
        } refused: {
            self.refuse($0, .tooManyPeeks(retryAfter: $1), host)
        }
    }

    /// The token was looked up.
    /// - Returns: false if no peek waited for it.
    func lookedUp(_ session: Session?, on connection: Connection, _ host: isolated some LookUpHost) -> Bool {
        guard let peek = self.waiting[connection.id] else { return false }
        guard let session, session.expiresAt > .now else { return self.failed(connection, .notRegistered, host) }
        // Else another process has mixed it up: it would be another person's mail.
        guard session.tokenHash == peek.token else { return self.failed(connection, .unavailable, host) }
        // Its next connection comes in as before, whatever its neighbours try.
        self.rates.remember(token: session.tokenHash)
        guard !session.isBanned else { return self.failed(connection, .banned, host) }
        self.rates.admit(Rates.mailPeeks, of: "\(session.caller.identity)", connection, host) {
            self.ask(peek, of: session, on: $0, host)
        } refused: {
            self.refuse($0, .tooManyPeeks(retryAfter: $1), host)
        }
        return true
    }

    private func ask(_ peek: Peek, of session: Session, on connection: Connection, _ host: isolated some LookUpHost) {
        let partition = Partition(of: session.caller.identity)
        guard !self.requests.isFull, !self.jobs.isFull(partition) else {
            self.requests.log(
                failureOn: connection.id, because: self.requests.isFull ? .tooManyRequests : .partitionFull)
            return self.refuse(connection, .unavailable, host)
        }
        let number = self.requests.add(
            .init(connection: connection.id, requestID: nil, kind: .peek, epoch: session.caller.epoch), at: host.now)
        let request = FetchRequest(
            answer: AnswerAddress(node: self.node, question: number), connection: connection.id,
            caller: session.caller, after: 0, limit: peek.limit, peekBytes: peek.bytes)
        self.jobs.append(.fetch(request), to: partition, host) { _ in
            host.assumeIsolated { $0.failed(number, because: .busFailed) }
        }
        self.requests.log(number, Rates.mailPeeks.action, of: session, on: connection)
    }

    /// The router has answered.
    func answered(
        _ answer: Answer, to request: PendingRequest, _ number: UInt64, on connection: Connection,
        _ host: isolated some LookUpHost
    ) {
        switch answer {
        case .page(let mail, let next):
            self.waiting[connection.id] = nil
            let json = MailOperations.answer(mail.map(\.payload), more: next != nil, at: .now)
            self.upgrades.end(connection, with: HTTPAnswer(mail: json), lingering: GatewayLimits.mailLinger, host)
            self.memory.lookAtUnsent(of: connection)
        case .stale: self.refuse(connection, .notRegistered, host)
        case .refused(let refusal): self.refuse(connection, refusal, host)
        default:
            self.requests.logUnfit(answer, to: request, number, host)
            self.refuse(connection, .unavailable, host)
        }
    }

    /// - Returns: false if no peek waits on the connection.
    @discardableResult
    func failed(_ connection: Connection, _ refusal: Refusal, _ host: isolated some EdgeHost) -> Bool {
        guard self.waiting[connection.id] != nil else { return false }
        self.refuse(connection, refusal, host)
        return true
    }

    private func refuse(_ connection: Connection, _ refusal: Refusal, _ host: isolated some EdgeHost) {
        self.waiting[connection.id] = nil
        self.metrics.errors.answered(refusal.code)
        self.upgrades.end(connection, with: HTTPAnswer(refusal), host)
    }

    /// The connection's socket is gone.
    func leave(_ id: ConnectionID) { self.waiting[id] = nil }
}

extension Refusal {
    /// - Parameter wait: milliseconds.
    fileprivate static func tooManyPeeks(retryAfter wait: Int64) -> Refusal {
        Refusal(.rateLimited, "too many looks at mail", retryAfterMilliseconds: wait)
    }
}
