package import Contract

/// Decides when each unsettled message is sent, sent again or given up. Holds no text, socket, clock or store.
///
/// One message per conversation is under way at a time, so a conversation arrives in the order it was written, however
/// often its head has to be repeated. A repeated message keeps its id: the server knows it again.
package struct OutboxMachine {
    package typealias Instant = ContinuousClock.Instant

    private enum State {
        /// Goes to `underWay` when its time has come and the conversation is free.
        case waiting(until: Instant?)
        /// Written to the connection. Leaves the machine, or goes back to `waiting`.
        case underWay(answerBy: Instant)
    }

    private struct Entry {
        let id: UUIDText
        var attempts: Int
        var state: State
    }

    /// What an unhappy end of an attempt means.
    package enum Verdict: Equatable {
        /// Back to `queued`, with this many attempts used.
        case again(UUIDText, attempts: Int)
        case giveUp(UUIDText, FailureReason)
        /// The message was settled meanwhile, or is not ours: a race between answers.
        case ignore
    }

    private var conversations: [WhisperID: [Entry]] = [:]
    private var owners: [UUIDText: WhisperID] = [:]
    /// Conversations with something to send, the longest waiting first.
    private var order: [WhisperID] = []
    private var underWay = 0
    /// The server asked for silence until then.
    private var quietUntil: Instant?
    private var isOnline = false

    package init() {}

    package var isEmpty: Bool { self.owners.isEmpty }

    /// A message was stored. Also for each unsettled one when the client starts, oldest first.
    package mutating func queued(_ id: UUIDText, to recipient: WhisperID, attempts: Int = 0) {
        guard self.owners[id] == nil else { return }
        self.owners[id] = recipient
        if self.conversations[recipient] == nil { self.order.append(recipient) }
        self.conversations[recipient, default: []].append(Entry(id: id, attempts: attempts, state: .waiting(until: nil)))
    }

    /// A session is bound: messages can go.
    package mutating func online() {
        self.isOnline = true
    }

    /// The session was lost without the connection: nothing was wrong with the messages, so no attempt is counted.
    package mutating func sessionLost() -> [Verdict] {
        self.isOnline = false
        return self.takeBack(counting: false)
    }

    /// The connection is gone. What was under way may or may not have been accepted, and is sent again.
    /// The reconnect brings its own delay, so there is none here.
    package mutating func disconnected() -> [Verdict] {
        self.isOnline = false
        return self.takeBack(counting: true)
    }

    /// The server has it, or the peer has.
    package mutating func settled(_ id: UUIDText) {
        guard let recipient = self.owners.removeValue(forKey: id) else { return }
        self.conversations[recipient]?.removeAll { entry in
            guard entry.id == id else { return false }
            if case .underWay = entry.state { self.underWay -= 1 }
            return true
        }
        if self.conversations[recipient]?.isEmpty == true {
            self.conversations[recipient] = nil
            self.order.removeAll { $0 == recipient }
        }
    }

    /// The server answered with an error.
    /// - Parameter code: `nil` for a code this release does not know.
    package mutating func refused(
        _ id: UUIDText, _ code: ErrorCode?, retryAfter: Duration?, at now: Instant,
        using random: inout some RandomNumberGenerator
    ) -> Verdict {
        switch code {
        case .internalError, .invalidTimestamp:
            // A wrong timestamp is signed anew by a clock that each answer of the server corrects.
            return self.retry(id, after: nil, at: now, using: &random)
        case .rateLimited:
            if let retryAfter { self.quietUntil = max(self.quietUntil ?? now, now + retryAfter) }
            return self.retry(id, after: retryAfter, at: now, using: &random)
        // The session machine logs in again; see `sessionLost`.
        case .notRegistered: return .ignore
        case .notFound: return self.giveUp(id, .noSuchPerson)
        case .forbidden: return self.giveUp(id, .forbidden)
        case .userBanned: return self.giveUp(id, .banned)
        case .authFailed, .invalidPayload, nil: return self.giveUp(id, .rejected)
        }
    }

    /// What cannot be sent, as the sender found out (a key that is no good).
    package mutating func unsendable(_ id: UUIDText, _ reason: FailureReason) -> Verdict {
        self.giveUp(id, reason)
    }

    /// Takes the messages whose time has come; each is under way from here on and must be written now.
    package mutating func due(at now: Instant) -> [UUIDText] {
        guard self.isOnline, (self.quietUntil ?? now) <= now else { return [] }
        var due: [UUIDText] = []
        for recipient in self.order where self.underWay < ClientLimits.messagesUnderWayMax {
            guard var head = self.conversations[recipient]?.first, case .waiting(let until) = head.state,
                (until ?? now) <= now
            else { continue }
            head.state = .underWay(answerBy: now + ClientLimits.answerTimeout)
            self.conversations[recipient]?[0] = head
            self.underWay += 1
            due.append(head.id)
        }
        return due
    }

    /// Time has passed: answers that did not come count as INTERNAL_ERROR.
    package mutating func timerFired(at now: Instant, using random: inout some RandomNumberGenerator) -> [Verdict] {
        let overdue = self.conversations.values.compactMap { entries -> UUIDText? in
            guard let head = entries.first, case .underWay(let answerBy) = head.state, answerBy <= now else { return nil }
            return head.id
        }
        return overdue.map { self.retry($0, after: nil, at: now, using: &random) }
    }

    /// When `due` or `timerFired` has something to do next.
    package var nextWake: Instant? {
        guard self.isOnline else { return nil }
        var earliest: Instant?
        for entries in self.conversations.values {
            guard let head = entries.first else { continue }
            let wake: Instant? =
                switch head.state {
                case .underWay(let answerBy): answerBy
                case .waiting(let until): [until, self.quietUntil].compactMap { $0 }.max()
                }
            if let wake { earliest = min(earliest ?? wake, wake) }
        }
        return earliest
    }

    private mutating func retry(
        _ id: UUIDText, after: Duration?, at now: Instant, using random: inout some RandomNumberGenerator
    ) -> Verdict {
        guard let recipient = self.owners[id], var head = self.conversations[recipient]?.first, head.id == id,
            case .underWay = head.state
        else { return .ignore }
        head.attempts += 1
        guard head.attempts < ClientLimits.attemptsMax else { return self.giveUp(id, .triedTooOften) }
        let delay = ClientLimits.resend.delay(after: head.attempts, using: &random)
        head.state = .waiting(until: now + max(delay, after ?? .zero))
        self.underWay -= 1
        self.conversations[recipient]?[0] = head
        return .again(id, attempts: head.attempts)
    }

    private mutating func giveUp(_ id: UUIDText, _ reason: FailureReason) -> Verdict {
        guard self.owners[id] != nil else { return .ignore }
        self.settled(id)
        return .giveUp(id, reason)
    }

    /// Everything under way waits again.
    /// - Parameter counting: whether the attempt is used up.
    private mutating func takeBack(counting: Bool) -> [Verdict] {
        var verdicts: [Verdict] = []
        for recipient in self.order {
            guard var head = self.conversations[recipient]?.first, case .underWay = head.state else { continue }
            if counting { head.attempts += 1 }
            if head.attempts >= ClientLimits.attemptsMax {
                verdicts.append(self.giveUp(head.id, .triedTooOften))
                continue
            }
            head.state = .waiting(until: nil)
            self.underWay -= 1
            self.conversations[recipient]?[0] = head
            verdicts.append(.again(head.id, attempts: head.attempts))
        }
        return verdicts
    }
}
