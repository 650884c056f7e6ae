import Contract
import DequeModule

/// What this node asked other services and has no answer to yet.
struct Questions {
    struct Question {
        var connection: ConnectionID
        var requestID: String?
        var kind: Kind
        /// Of the session for which it is asked.
        var epoch: Epoch?
        /// Milliseconds of the gateway's clock.
        var askedAt: Int64 = 0
    }

    enum Kind {
        /// A message waits for its commit.
        /// - groupRecipient: of group mail, which is answered recipient by recipient.
        case accept(messageID: UUIDText, groupRecipient: WhisperID?)
        case fetch
        /// The frame that gives the connection a session.
        /// - from: where the proof comes from. A failed one counts there.
        case login(from: ClientAddress)
        /// - tokenHash: of the token that is to be replaced.
        case refresh(tokenHash: Bytes32)
        /// Any other frame that a service answers.
        case frame
        /// Whose token is this?
        /// - from: where it was shown, if it counts there as long as it is not known to be somebody's.
        case session(tokenHash: Bytes32, from: ClientAddress?)
    }

    private var open: [UInt64: Question] = [:]
    /// Every question waits equally long, so the oldest is always in front.
    private var deadlines: Deque<(number: UInt64, at: Int64)> = []
    private var next: UInt64 = 0

    var count: Int { self.open.count }

    mutating func ask(_ question: Question, at now: Int64) -> UInt64 {
        self.next += 1
        var question = question
        question.askedAt = now
        self.open[self.next] = question
        self.deadlines.append((self.next, now + GatewayLimits.answerMax.milliseconds))
        return self.next
    }

    /// Whether this connection has asked for a session. Looks through all questions: for what happens rarely.
    func isLoggingIn(connection: ConnectionID) -> Bool {
        self.open.values.contains {
            if case .login = $0.kind { $0.connection == connection } else { false }
        }
    }

    /// - Returns: `nil` if the answer comes too late, or twice.
    mutating func answered(_ number: UInt64) -> Question? {
        self.open.removeValue(forKey: number)
    }

    /// Takes a question whose time is up; call until there is none.
    mutating func popExpired(at now: Int64) -> Question? {
        while let first = self.deadlines.first, first.at <= now {
            self.deadlines.removeFirst()
            if let question = self.open.removeValue(forKey: first.number) { return question }
        }
        return nil
    }
}
