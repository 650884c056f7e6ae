package import Contract

/// Decides how a listener comes to hear a conversation, and comes back to it (contract §14.7, §14.10). What is heard is
/// `ListenerMachine`'s. Holds no socket, clock or key.
package struct ListeningMachine {
    package enum State: Equatable, Sendable {
        /// Without a connection.
        case away
        /// `live_join` or `live_knock` is to go out, or is not answered yet. Goes to `joined`, `waiting` or `over`.
        case asking(Step)
        /// A whisperer decides. Goes to `asking(.join)` or `over`.
        case waiting
        case joined
        /// Terminal: only its user can try again.
        case over(End)
    }

    /// What is asked of the server next.
    package enum Step: Equatable, Sendable { case join, knock }

    package enum End: Equatable, Sendable {
        /// The link opens nothing: there is no such conversation any more, or it has another link now.
        case notFound
        /// The whisperer does not let us in, or sent us away.
        case refused(LiveRefused.Reason)
        /// Knocking is not allowed: the whisperer has blocked us.
        case forbidden
        /// The server takes this client's frames for wrong.
        case broken
    }

    package private(set) var state = State.away
    /// Whether a `live_join` may do without a knock.
    private var isAdmitted: Bool
    private var hasJoined = false
    /// Its user was told last that it has joined, on this connection.
    private var isBack = false
    private var failures = 0
    /// Since when it waits, on this connection.
    private var waitingSince: ContinuousClock.Instant?
    private var asksAt: ContinuousClock.Instant?
    /// The `live_join` that is under way only asks whether the wait is over.
    private var isAsking = false

    private static let again = Backoff(first: .milliseconds(500), longest: .seconds(15))
    /// Whoever waits asks so often whether it is let in: what told it may be lost.
    package static let askedEvery = Duration.seconds(15)
    /// Nobody waits longer than its knock does, even if the news of its end is lost.
    package static let waitMax = LiveLimits.knockTTL + Self.askedEvery

    /// - Parameter isAdmitted: it was let in before, as far as it knows.
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

    /// `live_admitted` came, with a key that is here now.
    /// - Returns: what to ask next. Who listens goes on without a word.
    package mutating func admitted() -> Step? {
        self.isAdmitted = true
        self.stopWaiting()
        switch self.state {
        case .waiting, .asking(.knock): return self.ask(.join)
        case .away, .asking(.join), .joined, .over: return nil
        }
    }

    /// `live_waiting` came.
    /// - Returns: whether that is news to its user.
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

    /// `live_joined` came. A late `live_waiting` may have come before it.
    /// - Returns: whether that is news to its user.
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

    /// It listens, and a key is missing that every answer to `live_join` has.
    package mutating func keyIsMissing() -> Step? { self.state == .joined ? self.ask(.join) : nil }

    /// `live_refused` came.
    package mutating func refused(_ reason: LiveRefused.Reason) {
        if case .over = self.state { return }
        self.state = .over(.refused(reason))
        self.isAdmitted = false
        self.stopWaiting()
    }

    // MARK: Time

    package var nextWake: ContinuousClock.Instant? { self.state == .waiting ? self.asksAt : nil }

    /// - Returns: what to ask next: whether the wait is over.
    package mutating func timerFired(at now: ContinuousClock.Instant) -> Step? {
        guard self.state == .waiting, let asksAt, asksAt <= now else { return nil }
        self.isAsking = true
        return self.ask(.join)
    }

    // MARK: Failures

    /// The server refused what was asked, or did not answer (`nil`).
    /// - Returns: what to ask next, and after which pause.
    package mutating func failed(
        _ step: Step, _ code: ErrorCode?, retryAfter: Duration?, at now: ContinuousClock.Instant
    ) -> (Step, after: Duration)? {
        guard self.state == .asking(step) else { return nil }
        if self.isAsking {
            // Unknown: the knock has ended. Not allowed: it still waits, or the news of its refusal is lost.
            let isOver = code == .notFound || self.waitingSince.map { $0 + Self.waitMax <= now } ?? true
            if isOver { self.refused(.expired) } else { self.wait(at: now) }
            return nil
        }
        switch (step, code) {
        // Whoever listened before and may not any more was removed meanwhile: that is told, and no knock goes out unasked.
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
            // The clock is set by the next pong.
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
