package import Contract
import DequeModule

/// Decides when each unsettled message is sent, sent again or given up. Holds no text, socket, clock or store.
///
/// One message per conversation is under way at a time, so a conversation arrives in the order it was written, however
/// often its head has to be repeated. A repeated message keeps its id: the server knows it again.
///
/// Each conversation is in exactly one of `ready`, `postponed`, `underWay` and `aside`. The work for a message does not grow
/// with the number of those that wait.
package struct OutboxMachine<MessageID: Hashable & Sendable> {
    package typealias Instant = ContinuousClock.Instant

    private struct Entry {
        let id: MessageID
        var attempts: Int
    }

    /// Result of a failed attempt.
    package enum Verdict: Equatable {
        /// Back to `queued`, with this many attempts used.
        case again(MessageID, attempts: Int)
        /// The same, and the time of its signature is no longer to be used: the server has not taken the message.
        case signAnew(MessageID, attempts: Int)
        case giveUp(MessageID, FailureReason)
        /// The message was settled meanwhile, or is not ours: a race between answers.
        case ignore
    }

    /// Messages waiting for each recipient, in the order written. The first entry is never settled. Later entries may
    /// be: they have no owner any more, and are skipped at the head.
    private var conversations: [WhisperID: Deque<Entry>] = [:]
    private var owners: [MessageID: WhisperID] = [:]
    /// Conversations whose head may go, the longest waiting first. Some may have ended meanwhile, or stand here twice.
    private var ready: Deque<WhisperID> = []
    /// Conversations whose head was refused, and when it may go again.
    private var postponed: [WhisperID: Instant] = [:]
    /// Conversations whose head is under way, and when its answer is due. At most `ClientLimits.messagesUnderWayMax`.
    private var underWay: [WhisperID: Instant] = [:]
    /// Messages that another way tries now (`EnvelopePath`).
    private var elsewhere: Set<MessageID> = []
    /// Conversations whose head may go, and is tried by another way.
    private var aside: Set<WhisperID> = []
    /// The server asked for silence until then.
    private var quietUntil: Instant?
    private var isOnline = false
    /// The person here decides whether what waits still goes.
    private var isPaused = false

    package init() {}

    package var isEmpty: Bool { self.owners.isEmpty }

    /// A message was stored. Also for each unsettled one when the client starts, oldest first.
    package mutating func queued(_ id: MessageID, to recipient: WhisperID, attempts: Int = 0) {
        guard self.owners[id] == nil else { return }
        self.owners[id] = recipient
        if self.conversations[recipient] == nil { self.ready.append(recipient) }
        self.conversations[recipient, default: []].append(Entry(id: id, attempts: attempts))
    }

    /// A session is bound: messages can go.
    package mutating func online() {
        self.isOnline = true
    }

    /// Nothing goes until `resume`.
    package mutating func pause() { self.isPaused = true }

    package mutating func resume() { self.isPaused = false }

    /// The session was lost without the connection: nothing was wrong with the messages, so no attempt is counted.
    package mutating func sessionLost() -> [Verdict] {
        self.isOnline = false
        return self.takeBack(counting: false)
    }

    /// The connection is gone. Messages under way may or may not have been accepted, and are sent again.
    /// The reconnect brings its own delay, so there is none here.
    package mutating func disconnected() -> [Verdict] {
        self.isOnline = false
        return self.takeBack(counting: true)
    }

    /// The server has it, or the peer has.
    package mutating func settled(_ id: MessageID) {
        self.elsewhere.remove(id)
        guard let recipient = self.owners.removeValue(forKey: id), self.conversations[recipient]?.first?.id == id
        else { return }
        self.conversations[recipient]?.removeFirst()
        while let next = self.conversations[recipient]?.first, self.owners[next.id] == nil {
            self.conversations[recipient]?.removeFirst()
        }
        let wasReady = self.isReady(recipient)
        self.underWay[recipient] = nil
        self.postponed[recipient] = nil
        self.aside.remove(recipient)
        if self.conversations[recipient]?.isEmpty == true {
            self.conversations[recipient] = nil
        } else if !wasReady {
            self.ready.append(recipient)
        }
    }

    /// The server answered with an error.
    /// - Parameter code: `nil` for a code this release does not know.
    package mutating func refused(
        _ id: MessageID, _ code: ErrorCode?, retryAfter: Duration?, at now: Instant,
        using random: inout some RandomNumberGenerator
    ) -> Verdict {
        switch code {
        case .internalError: return self.retry(id, after: nil, at: now, using: &random)
        case .invalidTimestamp:
            // Signed anew by a clock that each answer of the server corrects. The first retry is immediate: the message
            // may have waited long.
            let isFirst = self.owners[id].flatMap { self.conversations[$0]?.first?.attempts } == 0
            let verdict = self.retry(id, after: nil, at: now, using: &random)
            guard case .again(id, let attempts) = verdict, let recipient = self.owners[id] else { return verdict }
            if isFirst { self.postponed[recipient] = now }
            return .signAnew(id, attempts: attempts)
        case .rateLimited:
            if let retryAfter { self.quietUntil = max(self.quietUntil ?? now, now + retryAfter) }
            return self.retry(id, after: retryAfter, at: now, using: &random)
        // The session machine logs in again; see `sessionLost`. A ban ends the connection; see `disconnected`.
        case .notRegistered, .userBanned: return .ignore
        case .notFound: return self.giveUp(id, .noSuchPerson)
        case .forbidden: return self.giveUp(id, .forbidden)
        case .authFailed, .invalidPayload, nil: return self.giveUp(id, .rejected)
        }
    }

    /// A message that its sender cannot send (an unusable key).
    package mutating func unsendable(_ id: MessageID, _ reason: FailureReason) -> Verdict {
        self.giveUp(id, reason)
    }

    /// Cancels the messages waiting for this recipient. A message under way cannot be recalled.
    /// - Returns: the messages that left the machine, in the order written.
    package mutating func cancel(to recipient: WhisperID) -> [MessageID] {
        let isUnderWay = self.underWay[recipient] != nil
        let waiting = self.conversations[recipient]?.dropFirst(isUnderWay ? 1 : 0).map(\.id) ?? []
        return waiting.filter { id in
            guard self.owners[id] != nil else { return false }
            self.settled(id)
            return true
        }
    }

    /// Takes the messages whose time has come; each is under way from here on and must be written now.
    package mutating func due(at now: Instant) -> [MessageID] {
        guard self.isOnline, !self.isPaused, (self.quietUntil ?? now) <= now else { return [] }
        for (recipient, _) in self.postponed.filter({ $0.value <= now }).sorted(by: { $0.value < $1.value }) {
            self.postponed[recipient] = nil
            self.ready.append(recipient)
        }
        var due: [MessageID] = []
        while self.underWay.count < ClientLimits.messagesUnderWayMax, let recipient = self.ready.popFirst() {
            guard self.isReady(recipient), let head = self.conversations[recipient]?.first else { continue }
            guard !self.elsewhere.contains(head.id) else {
                self.aside.insert(recipient)
                continue
            }
            self.underWay[recipient] = now + ClientLimits.answerTimeout
            due.append(head.id)
        }
        return due
    }

    /// Time has passed: answers that did not come count as INTERNAL_ERROR.
    package mutating func timerFired(at now: Instant, using random: inout some RandomNumberGenerator) -> [Verdict] {
        let overdue = self.underWay.filter { $0.value <= now }.compactMap { self.conversations[$0.key]?.first?.id }
        return overdue.map { self.retry($0, after: nil, at: now, using: &random) }
    }

    /// When `due` or `timerFired` has something to do next.
    package var nextWake: Instant? {
        guard self.isOnline, !self.isPaused else { return nil }
        var wakes = Array(self.underWay.values)
        if self.underWay.count < ClientLimits.messagesUnderWayMax {
            if let first = self.postponed.values.min() { wakes.append(max(first, self.quietUntil ?? first)) }
            if let quietUntil, !self.ready.isEmpty { wakes.append(quietUntil) }
        }
        return wakes.min()
    }

    /// Whether it was written, and has no answer yet.
    package func isUnderWay(_ id: MessageID) -> Bool {
        guard let recipient = self.owners[id], self.underWay[recipient] != nil else { return false }
        return self.conversations[recipient]?.first?.id == id
    }

    // MARK: Another way

    /// Messages waiting for a recipient, in the order written, with the one under way.
    package func waiting(for recipient: WhisperID, limit: Int) -> [MessageID] {
        let waiting = self.conversations[recipient]?.lazy.map(\.id).filter { self.owners[$0] != nil }
        return waiting.map { Array($0.prefix(limit)) } ?? []
    }

    /// Whether it is neither settled nor given up.
    package func isWaiting(_ id: MessageID) -> Bool { self.owners[id] != nil }

    /// Another path tries this message now. The outbox does not send it meanwhile.
    /// - Returns: `false` if the message is under way here, or does not wait.
    package mutating func tryElsewhere(_ id: MessageID) -> Bool {
        guard self.isWaiting(id), !self.isUnderWay(id) else { return false }
        self.elsewhere.insert(id)
        return true
    }

    /// The other way has not brought it over, as far as is known.
    package mutating func cameBack(_ id: MessageID) {
        guard self.elsewhere.remove(id) != nil, let recipient = self.owners[id],
            self.conversations[recipient]?.first?.id == id, self.aside.remove(recipient) != nil
        else { return }
        self.ready.append(recipient)
    }

    private func isReady(_ recipient: WhisperID) -> Bool {
        self.underWay[recipient] == nil && self.postponed[recipient] == nil && !self.aside.contains(recipient)
    }

    private mutating func retry(
        _ id: MessageID, after: Duration?, at now: Instant, using random: inout some RandomNumberGenerator
    ) -> Verdict {
        guard let recipient = self.owners[id], let head = self.conversations[recipient]?.first, head.id == id,
            self.underWay[recipient] != nil
        else { return .ignore }
        let attempts = head.attempts + 1
        guard attempts < ClientLimits.attemptsMax else { return self.giveUp(id, .triedTooOften) }
        let delay = ClientLimits.resend.delay(after: attempts, using: &random)
        self.conversations[recipient]?[0].attempts = attempts
        self.underWay[recipient] = nil
        self.postponed[recipient] = now + max(delay, after ?? .zero)
        return .again(id, attempts: attempts)
    }

    private mutating func giveUp(_ id: MessageID, _ reason: FailureReason) -> Verdict {
        guard self.owners[id] != nil else { return .ignore }
        self.settled(id)
        return .giveUp(id, reason)
    }

    /// Everything under way waits again, before all others.
    /// - Parameter counting: whether the attempt is used up.
    private mutating func takeBack(counting: Bool) -> [Verdict] {
        var verdicts: [Verdict] = []
        for (recipient, _) in self.underWay.sorted(by: { $0.value > $1.value }) {
            guard let head = self.conversations[recipient]?.first else { continue }
            let attempts = head.attempts + (counting ? 1 : 0)
            if attempts >= ClientLimits.attemptsMax {
                verdicts.append(self.giveUp(head.id, .triedTooOften))
                continue
            }
            self.conversations[recipient]?[0].attempts = attempts
            self.underWay[recipient] = nil
            self.ready.prepend(recipient)
            verdicts.append(.again(head.id, attempts: attempts))
        }
        return verdicts
    }
}
