package import Contract

/// Decides how a listener joins a conversation, and rejoins it (contract §14.7, §14.10). `ListenerMachine` handles the
/// content. Holds no socket, clock or key.
package struct ListeningMachine {
    package enum State: Equatable, Sendable {
        /// Without a connection.
        case away
        /// `live_join` or `live_knock` is about to be sent, or is not answered yet. Next: `joined`, `waiting` or
        /// `over`.
        case asking(Step)
        /// A whisperer decides. Next: `asking(.join)` or `over`.
        case waiting
        case joined
        /// Terminal: only the user can try again.
        case over(End)
    }

    /// The next question to the server.
    package enum Step: Equatable, Sendable { case join, knock }

    package enum End: Equatable, Sendable {
        /// The link opens nothing: the conversation was deleted, or has another link now.
        case notFound
        /// The whisperer refused or removed us.
        case refused(LiveRefused.Reason)
        /// Knocking is not allowed: the whisperer has blocked us.
        case forbidden
        /// The server rejects this client's frames.
        case broken
    }

    package private(set) var state = State.away
    /// Whether a `live_join` may do without a knock.
    private var isAdmitted: Bool
    private var hasJoined = false
    /// The user's last news on this connection was that the listener has joined.
    private var isBack = false
    private var failures = 0
    /// The start of the wait, on this connection.
    private var waitingSince: ContinuousClock.Instant?
    private var asksAt: ContinuousClock.Instant?
    /// The `live_join` that is under way only asks whether the wait is over.
    private var isAsking = false

    private static let again = Backoff(first: .milliseconds(500), longest: .seconds(15))
    /// How often a waiting listener asks whether it is admitted: the notice may be lost.
    package static let askedEvery = Duration.seconds(15)
    /// The longest wait: the knock has ended by then, even if the notice of its end was lost.
    package static let waitMax = LiveLimits.knockTTL + Self.askedEvery

    /// - Parameter isAdmitted: whether this listener was admitted before, as far as it knows.
    package init(isAdmitted: Bool) { self.isAdmitted = isAdmitted }

    package mutating func connected() -> Step? {
        guard self.state == .away else { return nil }
        return self.ask(self.isAdmitted ? .join : .knock)
    }

    package mutating func disconnected() {
        if case .over = self.state { return }
        self.state = .away
        self.failures = 0
        self.isBack = false
        self.stopWaiting()
    }

    /// `live_admitted` was received, and its key is stored.
    /// - Returns: the next question. A listener that has joined asks nothing.
    package mutating func admitted() -> Step? {
        self.isAdmitted = true
        self.stopWaiting()
        switch self.state {
        case .waiting, .asking(.knock): return self.ask(.join)
        case .away, .asking(.join), .joined, .over: return nil
        }
    }

    /// `live_waiting` was received.
    /// - Returns: whether this is new to the user.
    package mutating func waiting(at now: ContinuousClock.Instant) -> Bool {
        guard case .asking = self.state else { return false }
        let isNews = self.waitingSince == nil
        if isNews { self.isBack = false }
        self.wait(at: now)
        return isNews
    }

    private mutating func wait(at now: ContinuousClock.Instant) {
        self.state = .waiting
        self.isAsking = false
        if self.waitingSince == nil { self.waitingSince = now }
        self.asksAt = now + Self.askedEvery
    }

    private mutating func stopWaiting() {
        (self.waitingSince, self.asksAt, self.isAsking) = (nil, nil, false)
    }

    /// `live_joined` was received, possibly after a late `live_waiting`.
    /// - Returns: whether this is new to the user.
    package mutating func joined() -> Bool {
        guard self.state == .asking(.join) || self.state == .waiting else { return false }
        let isNews = !self.isBack
        self.stopWaiting()
        self.state = .joined
        self.isAdmitted = true
        (self.hasJoined, self.isBack) = (true, true)
        self.failures = 0
        return isNews
    }

    /// The listener has joined, and lacks a key that every answer to `live_join` contains.
    package mutating func keyIsMissing() -> Step? { self.state == .joined ? self.ask(.join) : nil }

    /// `live_refused` was received.
    package mutating func refused(_ reason: LiveRefused.Reason) {
        if case .over = self.state { return }
        self.state = .over(.refused(reason))
        self.isAdmitted = false
        self.stopWaiting()
    }

    // MARK: Time

    package var nextWake: ContinuousClock.Instant? { self.state == .waiting ? self.asksAt : nil }

    /// - Returns: the next question: whether the wait is over.
    package mutating func timerFired(at now: ContinuousClock.Instant) -> Step? {
        guard self.state == .waiting, let asksAt, asksAt <= now else { return nil }
        self.isAsking = true
        return self.ask(.join)
    }

    // MARK: Failures

    /// The server refused the question, or did not answer (`nil`).
    /// - Returns: the next question, and the pause before it.
    package mutating func failed(
        _ step: Step, _ code: ErrorCode?, retryAfter: Duration?, at now: ContinuousClock.Instant
    ) -> (Step, after: Duration)? {
        guard self.state == .asking(step) else { return nil }
        if self.isAsking {
            // `notFound`: the knock has ended. Otherwise the knock still waits, or the notice of its refusal was lost.
            let isOver = code == .notFound || self.waitingSince.map { $0 + Self.waitMax <= now } ?? true
            if isOver { self.refused(.expired) } else { self.wait(at: now) }
            return nil
        }
        switch (step, code) {
        // A listener that had joined and is no longer allowed was removed meanwhile. The user sees it; no knock is sent
        // unasked.
        case (.join, .forbidden), (.join, .notFound):
            if self.hasJoined {
                self.state = .over(code == .notFound ? .refused(.deleted) : .refused(.removed))
                return nil
            }
            self.isAdmitted = false
            return self.ask(.knock).map { ($0, .zero) }
        case (.knock, .notFound): self.state = .over(.notFound)
        case (.knock, .forbidden): self.state = .over(.forbidden)
        case (_, .rateLimited), (_, .internalError), (_, .notRegistered), (_, nil):
            self.failures += 1
            return (step, max(retryAfter ?? .zero, Self.again.pause(after: self.failures)))
        case (.knock, .invalidTimestamp):
            // The next pong sets the clock.
            self.failures += 1
            return (step, Self.again.pause(after: self.failures))
        default: self.state = .over(.broken)
        }
        return nil
    }

    private mutating func ask(_ step: Step) -> Step? {
        self.state = .asking(step)
        return step
    }
}
