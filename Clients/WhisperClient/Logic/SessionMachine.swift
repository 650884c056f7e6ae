package import Contract

/// Decides what the client does about its connection and session: connect, log in, catch up, stay alive, come back.
/// Holds no socket, clock, token or key.
package struct SessionMachine {
    package typealias Instant = ContinuousClock.Instant

    private enum State {
        /// Not connected. `run` opens the next connection at `until`.
        case away(until: Instant)
        /// A connection is being opened. Goes to `greeting` or `away`.
        case opening
        /// Connected, not known yet. Goes to `bound`, or to `away` at the deadline.
        case greeting(Greeting, deadline: Instant)
        /// The server knows us on this connection. Goes to `away`; to `greeting` when the session died under us.
        case bound(Bound)
        /// Terminal, until the application starts a new client.
        case stopped(StopReason)
    }

    private enum Greeting {
        /// The stored session is being tried with the first page of mail.
        case resuming
        /// `register_begin` was sent.
        case begun(withID: Bool)
        /// `register_proof` was sent.
        case proved
    }

    private struct Bound {
        var pingAt: Instant
        var pongBy: Instant?
        var refreshAt: Instant
        var isRefreshing = false
        var mail: Mail
    }

    /// The walk through the pages of waiting mail.
    private enum Mail {
        case asking(cursor: String?, answerBy: Instant)
        case askAgain(cursor: String?, at: Instant)
        case caughtUp
    }

    /// The next step outside a connection.
    package enum Step: Equatable {
        case connect
        case wait(until: Instant)
        case stop(StopReason)
    }

    package enum Action: Equatable {
        case sendRegisterBegin(withID: Bool)
        /// Answer the challenge that just came, and send `register_proof`.
        case sendProof
        /// The session counts: messages may go.
        case bound
        /// The session is void: forget its token, stop sending.
        case forgetSession
        case fetch(cursor: String?)
        case caughtUp
        case ping
        case refresh
        case closeConnection
    }

    /// Which request an error answers.
    package enum Request: Equatable { case login, fetch, refresh, other }

    /// Until when a ban holds, only a login by the keys alone is told. It is tried once.
    private enum BanTerm { case unasked, asking, asked }

    private var state: State
    private var banTerm = BanTerm.unasked
    private var failures = 0
    private var refusals = 0
    /// Whether the application knows a Whisper ID to log in with.
    private var knowsID: Bool

    package init(knowsID: Bool, at now: Instant) {
        self.knowsID = knowsID
        self.state = .away(until: now)
    }

    package var isBound: Bool {
        if case .bound = self.state { true } else { false }
    }

    package var stopReason: StopReason? {
        if case .stopped(let reason) = self.state { reason } else { nil }
    }

    // MARK: Outside a connection

    /// Asked by `run` whenever it has no connection.
    package mutating func nextStep(at now: Instant) -> Step {
        switch self.state {
        case .away(let until) where until <= now:
            self.state = .opening
            return .connect
        case .away(let until): return .wait(until: until)
        case .stopped(let reason): return .stop(reason)
        case .opening, .greeting, .bound:
            assertionFailure("a connection is open")
            return .stop(.closed)
        }
    }

    package mutating func openFailed(at now: Instant, using random: inout some RandomNumberGenerator) {
        guard case .opening = self.state else { return }
        self.goAway(after: nil, at: now, using: &random)
    }

    /// - Parameter sessionLeft: how long the stored session is still good for; `nil` if there is none.
    package mutating func opened(sessionLeft: Duration?, at now: Instant) -> [Action] {
        guard case .opening = self.state else { return [.closeConnection] }
        let deadline = now + ClientLimits.loginTimeout
        if let sessionLeft, sessionLeft > .zero {
            self.state = .greeting(.resuming, deadline: deadline)
            self.refreshAt = now + max(sessionLeft - ClientLimits.refreshAhead, .zero)
            return [.fetch(cursor: nil)]
        }
        return self.begin(at: now)
    }

    /// The person, or the application, wants to end it.
    package mutating func leave() {
        self.stop(.closed)
    }

    // MARK: Login

    package mutating func challenged(at now: Instant) -> [Action] {
        // A challenge nobody asked for is the server's mistake; without harm.
        guard case .greeting(.begun, let deadline) = self.state else { return [] }
        self.state = .greeting(.proved, deadline: deadline)
        return [.sendProof]
    }

    /// - Parameter sessionLeft: how long the new session is good for, by the server's clock.
    package mutating func registered(
        sessionLeft: Duration, at now: Instant, using random: inout some RandomNumberGenerator
    ) -> [Action] {
        guard case .greeting(.proved, _) = self.state else { return [] }
        self.knowsID = true
        self.refreshAt = now + max(sessionLeft - ClientLimits.refreshAhead, .zero)
        self.bind(mail: .asking(cursor: nil, answerBy: now + ClientLimits.answerTimeout), at: now, using: &random)
        return [.bound, .fetch(cursor: nil)]
    }

    /// Something about the server or the answer forbids going on.
    package mutating func refuse(_ reason: StopReason) -> [Action] {
        self.stop(reason)
        return [.closeConnection]
    }

    // MARK: Life of a session

    /// A page of mail came (its messages are the engine's).
    package mutating func paged(
        nextCursor: String?, at now: Instant, using random: inout some RandomNumberGenerator
    ) -> [Action] {
        var actions: [Action] = []
        if case .greeting(.resuming, _) = self.state {
            self.bind(mail: .caughtUp, at: now, using: &random)
            actions.append(.bound)
        } else if case .bound(let bound) = self.state, case .asking = bound.mail {
        } else {
            return []  // An answer that came after its time; the page is asked for again.
        }
        if let nextCursor {
            self.setMail(.asking(cursor: nextCursor, answerBy: now + ClientLimits.answerTimeout))
            actions.append(.fetch(cursor: nextCursor))
        } else {
            self.setMail(.caughtUp)
            actions.append(.caughtUp)
        }
        return actions
    }

    /// Anything at all arrived.
    package mutating func heard() {
        guard case .bound(var bound) = self.state else { return }
        bound.pongBy = nil
        self.state = .bound(bound)
    }

    package mutating func refreshed(sessionLeft: Duration, at now: Instant) {
        guard case .bound(var bound) = self.state else { return }
        bound.isRefreshing = false
        bound.refreshAt = now + max(sessionLeft - ClientLimits.refreshAhead, .seconds(60))
        self.refreshAt = bound.refreshAt
        self.state = .bound(bound)
    }

    /// The server answered a request with an error. Errors about messages are the outbox's, except for what they say
    /// about the session.
    /// - Parameters:
    ///   - bannedUntil: of USER_BANNED, if the server has said it.
    ///   - reason: of a login, if the server has said it and this release knows it.
    package mutating func refused(
        _ request: Request, _ code: ErrorCode?, retryAfter: Duration?, bannedUntil: Timestamp? = nil,
        reason: RefusalReason? = nil, at now: Instant, using random: inout some RandomNumberGenerator
    ) -> [Action] {
        if code == .userBanned {
            if case .greeting(.proved, _) = self.state { return self.refuse(.banned(until: bannedUntil)) }
            return self.askBanTerm(at: now)
        }
        switch self.state {
        case .greeting(.resuming, _):
            guard request == .fetch else { return [] }
            // A new login answers any fault of the stored session or of its mail, unless the server is only overloaded
            // or failing.
            if code == .rateLimited || code == .internalError {
                return self.retreat(after: retryAfter, at: now, using: &random)
            }
            return [.forgetSession] + self.begin(at: now)
        case .greeting(let greeting, _):
            guard request == .login else { return [] }
            // Another attempt gets the same answer until a person does something.
            if let reason { return self.refuse(.refused(reason)) }
            switch (greeting, code) {
            case (.begun(withID: true), .notFound):
                // The server lost us, or is another one. The keys alone bring the same id back.
                self.knowsID = false
                return self.begin(at: now)
            case (_, .authFailed), (_, .forbidden), (_, .invalidPayload), (_, .notFound), (_, nil):
                self.refusals += 1
                if self.refusals >= ClientLimits.loginsRefusedMax { return self.refuse(.loginRefused) }
                return self.retreat(after: retryAfter, at: now, using: &random)
            default: return self.retreat(after: retryAfter, at: now, using: &random)
            }
        case .bound(var bound):
            if code == .notRegistered { return [.forgetSession] + self.begin(at: now) }
            if request == .refresh {
                bound.isRefreshing = false
                bound.refreshAt = now + max(.seconds(60), retryAfter ?? .zero)
                self.state = .bound(bound)
            }
            if request == .fetch, case .asking(let cursor, _) = bound.mail {
                // A cursor that the server no longer takes would be refused for ever: start over, duplicates are known.
                let isTemporary = code == .rateLimited || code == .internalError
                let delay = ClientLimits.resend.delay(after: 1, using: &random)
                self.setMail(.askAgain(cursor: isTemporary ? cursor : nil, at: now + max(delay, retryAfter ?? .zero)))
            }
            return []
        // Several frames were under way when the session died; each is refused.
        case .away, .opening, .stopped: return []
        }
    }

    // MARK: Time and end

    package var nextWake: Instant? {
        switch self.state {
        case .greeting(_, let deadline): return deadline
        case .bound(let bound):
            var wakes = [bound.pongBy ?? bound.pingAt]
            if !bound.isRefreshing { wakes.append(bound.refreshAt) }
            switch bound.mail {
            case .asking(_, let answerBy): wakes.append(answerBy)
            case .askAgain(_, let at): wakes.append(at)
            case .caughtUp: break
            }
            return wakes.min()
        case .away, .opening, .stopped: return nil
        }
    }

    package mutating func timerFired(at now: Instant, using random: inout some RandomNumberGenerator) -> [Action] {
        switch self.state {
        case .greeting(_, let deadline) where deadline <= now:
            return self.retreat(after: nil, at: now, using: &random)
        case .bound(var bound):
            if let pongBy = bound.pongBy, pongBy <= now { return self.retreat(after: nil, at: now, using: &random) }
            var actions: [Action] = []
            if bound.pingAt <= now {
                bound.pingAt = now + Self.pingDelay(using: &random)
                bound.pongBy = bound.pongBy ?? now + ClientLimits.pongTimeout
                actions.append(.ping)
            }
            if bound.refreshAt <= now, !bound.isRefreshing {
                bound.isRefreshing = true
                actions.append(.refresh)
            }
            switch bound.mail {
            case .asking(let cursor, let due) where due <= now, .askAgain(let cursor, let due) where due <= now:
                bound.mail = .asking(cursor: cursor, answerBy: now + ClientLimits.answerTimeout)
                actions.append(.fetch(cursor: cursor))
            default: break
            }
            self.state = .bound(bound)
            return actions
        default: return []
        }
    }

    /// A ping for a reason of the engine's own: its answer proves that what was written before has arrived.
    package mutating func pingNow(at now: Instant, using random: inout some RandomNumberGenerator) -> [Action] {
        guard case .bound(var bound) = self.state else { return [] }
        bound.pingAt = now + Self.pingDelay(using: &random)
        bound.pongBy = bound.pongBy ?? now + ClientLimits.pongTimeout
        self.state = .bound(bound)
        return [.ping]
    }

    /// The connection ended.
    package mutating func closed(
        _ code: UInt16?, reason: String, at now: Instant, using random: inout some RandomNumberGenerator
    ) {
        switch code.flatMap(CloseCode.init(rawValue:)) {
        case .sessionReplaced: return self.stop(.replaced)
        case .banned: _ = self.askBanTerm(at: now)
        case .goingAway:
            let delay = Int64(reason).map { Duration.milliseconds(max($0, 0)) } ?? .seconds(1)
            self.goAway(after: min(delay, ClientLimits.drainDelayMax), at: now, using: &random)
        case .tooManyConnections, .abuse:
            self.goAway(after: ClientLimits.reconnect.longest, at: now, using: &random)
        default: self.goAway(after: nil, at: now, using: &random)
        }
    }

    // MARK: Transitions

    /// When the session that is being bound wants renewal.
    private var refreshAt: Instant?

    private mutating func askBanTerm(at now: Instant) -> [Action] {
        guard self.banTerm == .unasked else { return self.refuse(.banned(until: nil)) }
        self.banTerm = .asking
        self.knowsID = false
        self.state = .away(until: now)
        return [.forgetSession, .closeConnection]
    }

    private mutating func begin(at now: Instant) -> [Action] {
        self.state = .greeting(.begun(withID: self.knowsID), deadline: now + ClientLimits.loginTimeout)
        return [.sendRegisterBegin(withID: self.knowsID)]
    }

    private mutating func bind(mail: Mail, at now: Instant, using random: inout some RandomNumberGenerator) {
        self.failures = 0
        self.refusals = 0
        if self.banTerm == .asking { self.banTerm = .asked }
        self.state = .bound(
            Bound(
                pingAt: now + Self.pingDelay(using: &random), pongBy: nil,
                refreshAt: self.refreshAt ?? now, mail: mail))
    }

    private mutating func setMail(_ mail: Mail) {
        guard case .bound(var bound) = self.state else { return }
        bound.mail = mail
        self.state = .bound(bound)
    }

    /// Gives this connection up. `closed` follows and finds the delay already set.
    private mutating func retreat(
        after delay: Duration?, at now: Instant, using random: inout some RandomNumberGenerator
    ) -> [Action] {
        self.goAway(after: delay, at: now, using: &random)
        return [.closeConnection]
    }

    private mutating func goAway(
        after delay: Duration?, at now: Instant, using random: inout some RandomNumberGenerator
    ) {
        switch self.state {
        case .stopped, .away: return
        case .opening, .greeting, .bound:
            guard self.banTerm != .asking else { return self.stop(.banned(until: nil)) }
            self.failures += 1
            let backoff = ClientLimits.reconnect.delay(after: self.failures, using: &random)
            self.state = .away(until: now + max(delay ?? .zero, delay == nil ? backoff : .zero))
        }
    }

    private mutating func stop(_ reason: StopReason) {
        if case .stopped = self.state { return }
        self.state = .stopped(reason)
    }

    private static func pingDelay(using random: inout some RandomNumberGenerator) -> Duration {
        let range = ClientLimits.pingInterval
        return range.lowerBound + (range.upperBound - range.lowerBound) * Double.random(in: 0...1, using: &random)
    }
}

/// Why a client stopped for good.
package enum StopReason: Hashable, Sendable {
    /// We asked for it.
    case closed
    /// The identity was opened on another device (4001).
    case replaced
    /// By an operator. Without an end it holds until an operator lifts it, or the end is not known.
    case banned(until: Timestamp?)
    /// The server refuses our login again and again.
    case loginRefused
    /// The server gave a reason that only a person can remove.
    case refused(RefusalReason)
    /// The server asked us to sign something that is no login challenge. Hostile.
    case foreignChallenge
    /// The server says we are somebody whose id does not fit our keys, or another than before. Hostile or another server.
    case foreignIdentity
    /// The local store cannot be written. Nothing is acknowledged from here on.
    case storeFailed

    /// As events and logs call it.
    package var word: String {
        switch self {
        case .closed: "closed"
        case .replaced: "replaced"
        case .banned: "banned"
        case .loginRefused: "loginRefused"
        case .refused(let reason): reason.rawValue
        case .foreignChallenge: "foreignChallenge"
        case .foreignIdentity: "foreignIdentity"
        case .storeFailed: "storeFailed"
        }
    }
}

extension RefusalReason {
    /// For people.
    package var sentence: String {
        switch self {
        case .registrationClosed: "This server takes nobody new now. Identities that it knows sign in as before."
        case .invitationNeeded: "This server takes somebody new by invitation only. Ask its operators for one."
        case .erased: "This identity was erased for good. Nobody can log in with it again."
        case .confirmationMismatch: "The confirmation names another identity."
        case .invitationInvalid: "This invitation is unknown, expired, revoked or used up. Ask for another one."
        }
    }
}

/// An operator's ban of our identity.
package struct Ban: Hashable, Sendable {
    /// By the server's clock. `nil`: it has no end, or none that is known.
    package var until: Timestamp?

    package init(until: Timestamp?) { self.until = until }
}
