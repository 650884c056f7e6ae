import ClusterContract
import Contract
import DequeModule

/// A request to another service that has no answer yet.
struct PendingRequest {
    enum Kind {
        /// A message waits for its commit.
        /// - groupRecipient: of group mail, which is answered recipient by recipient.
        case accept(messageID: UUIDText, groupRecipient: WhisperID?)
        case fetch
        /// The same over HTTP.
        case peek
        /// The frame that gives the connection a session or a guest.
        /// - from: where the proof comes from. A failed one counts there.
        case login(from: ClientAddress)
        /// - tokenHash: of the token that is to be replaced.
        case refresh(tokenHash: Bytes32)
        /// The frame that ends the connection's session for good. Its answer is written before the connection closes.
        case farewell
        /// Any other frame that a service answers.
        case frame
        /// The look-up of a token.
        /// - from: the address that showed it, if an unknown token counts against that address.
        case session(tokenHash: Bytes32, from: ClientAddress?)
        /// The same for a guest's token.
        case guest(tokenHash: Bytes32, from: ClientAddress?)
        /// Whether the token that a guest's connection was bound by still lives.
        case guestCheck(tokenHash: Bytes32)

        /// One that is stale itself keeps no connection open, though others may wait behind it.
        var isFarewell: Bool { if case .farewell = self { true } else { false } }
    }

    var connection: ConnectionID
    var requestID: String?
    var kind: Kind
    /// The login counter of the session that the request was made for.
    var epoch: Epoch?
    /// Milliseconds of the gateway's clock.
    var askedAt: Int64 = 0
}

/// The requests of this node that have no answer yet, by their number.
struct PendingRequests {
    private var open: [UInt64: PendingRequest] = [:]
    /// Every request waits equally long, so the oldest is always in front.
    private var deadlines: Deque<(number: UInt64, at: Int64)> = []
    private var next: UInt64 = 0

    var count: Int { self.open.count }

    /// - Returns: the number that the answer names.
    mutating func add(_ request: PendingRequest, at now: Int64) -> UInt64 {
        self.next += 1
        var request = request
        request.askedAt = now
        self.open[self.next] = request
        self.deadlines.append((self.next, now + ClusterLimits.answerMax.milliseconds))
        return self.next
    }

    /// Whether this connection has asked for a session, or for the end of its own. Searches all requests, so use it only for rare events.
    func changesSession(connection: ConnectionID) -> Bool {
        self.open.values.contains {
            switch $0.kind {
            case .login, .farewell: $0.connection == connection
            default: false
            }
        }
    }

    /// - Returns: `nil` if the answer comes too late, or twice.
    mutating func answered(_ number: UInt64) -> PendingRequest? {
        self.open.removeValue(forKey: number)
    }

    /// Takes one expired request. Call it until it returns `nil`.
    mutating func popExpired(at now: Int64) -> (number: UInt64, request: PendingRequest)? {
        while let first = self.deadlines.first, first.at <= now {
            self.deadlines.removeFirst()
            if let request = self.open.removeValue(forKey: first.number) { return (first.number, request) }
        }
        return nil
    }
}
