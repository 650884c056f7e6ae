import Bus
import ClusterContract
import Contract
import ServerCrypto

/// Control frames of live conversations and frames of rooms: they go to the share of the conversation or room that they name
/// (contract §14.1, §15.6).
final class ShareFrames {
    private let node: NodeID
    private let jobs: ShareJobs
    private let rates: RateGate
    private let requests: Requests
    /// Conversations that frames of a connection have named, the newest last. Their shares are told when the connection ends.
    private var named: [ConnectionID: [ConversationID]] = [:]

    init(node: NodeID, jobs: ShareJobs, rates: RateGate, requests: Requests) {
        self.node = node
        self.jobs = jobs
        self.rates = rates
        self.requests = requests
    }

    func received(
        _ frame: ReceivedFrame, of principal: Principal, on connection: Connection, _ host: isolated some RequestHost
    ) {
        // A race: the connection ended while the frame waited for its rate. It can get no answer.
        guard connection.isOpen else { return }
        if let guess = frame.definition.guess, let field = frame.definition.guessField, frame.payload.has(field) {
            // The principal's own rate first: others of the same address may go on.
            return self.rates.admit(guess.rate, of: "\(principal.id)", connection, host) {
                self.pass(on: frame, of: principal, within: guess.addressRate, on: $0, host)
            } refused: {
                host.refuse(
                    $0, Refusal(.rateLimited, "too many frames of this kind", retryAfterMilliseconds: $1),
                    requestID: frame.requestID)
            }
        }
        guard let rate = frame.definition.addressRate else {
            return self.pass(on: frame, of: principal, on: connection, host)
        }
        self.pass(on: frame, of: principal, within: rate, on: connection, host)
    }

    private func pass(
        on frame: ReceivedFrame, of principal: Principal, within rate: Rate, on connection: Connection,
        _ host: isolated some RequestHost
    ) {
        self.rates.admit(rate, connection, host) {
            // A closed connection has ended its part in all conversations.
            if $0.isOpen { self.pass(on: frame, of: principal, on: $0, host) }
        } refused: {
            host.refuse(
                $0, Refusal(.rateLimited, "too many frames of this kind from this address", retryAfterMilliseconds: $1),
                requestID: frame.requestID)
        }
    }

    private func pass(
        on frame: ReceivedFrame, of principal: Principal, on connection: Connection, _ host: isolated some RequestHost
    ) {
        guard let (number, payload) = self.requests.open(for: frame, of: principal.session, on: connection, host) else {
            return
        }
        // A join by code names no room: any share looks it up.
        let named = frame.definition.shareField.flatMap { frame.payload.has($0) ? frame.payload.uuid($0) : nil }
        let isGuess = frame.definition.guessField.map { frame.payload.has($0) } ?? false
        let request = LiveRequest(
            answer: AnswerAddress(node: self.node, question: number), connection: connection.id, principal: principal,
            requestID: frame.requestID, type: frame.definition.type, payload: payload, receivedAt: .now,
            origin: isGuess || frame.definition.addressRate != nil ? Self.origin(of: connection.address) : 0)
        // The bus calls back on the loop.
        let failed: @Sendable (BusError) -> Void = { _ in
            host.assumeIsolated { $0.failed(number, because: .busFailed) }
        }
        if frame.definition.isOfRooms {
            let share = named.map { RoomShare(of: $0) } ?? RoomShare(of: principal.id)
            return self.jobs.append(RoomJob.frame(request), to: share, failed: failed)
        }
        if let named { self.remember(ConversationID(high: named.high, low: named.low), of: connection.id) }
        let share = named.map { LiveShare(of: $0) } ?? LiveShare(of: principal.id)
        self.jobs.append(LiveJob.frame(request), to: share, failed: failed)
    }

    /// The same at every gateway, and no address.
    private static func origin(of address: ClientAddress) -> UInt64 {
        SHA256.hash(Array("whisper-origin\n\(address)\n".utf8)).bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    private func remember(_ conversation: ConversationID, of connection: ConnectionID) {
        var conversations = self.named[connection] ?? []
        if conversations.last == conversation { return }
        conversations.removeAll { $0 == conversation }
        conversations.append(conversation)
        if conversations.count > GatewayLimits.conversationsRememberedMax { conversations.removeFirst() }
        self.named[connection] = conversations
    }

    /// Tells the shares of its conversations that the connection has ended. If this is lost, it heals: reports omit the connection.
    func leave(_ connection: ConnectionID) {
        for conversation in self.named.removeValue(forKey: connection) ?? [] {
            self.jobs.append(
                .left(conversation, LiveConnection(node: self.node, connection: connection)),
                to: LiveShare(of: conversation))
        }
    }
}
