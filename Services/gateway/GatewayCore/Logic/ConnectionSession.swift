import ClusterContract
import Contract
import DequeModule
import ServerCrypto

/// Decides whose a connection is, and which of its frames are handled, wait or are refused (contract §4, §14.3).
///
/// A connection becomes somebody's by a token that is looked up, by a login, or by a guest's proof. It stays with that
/// identity or guest, and never goes back to an older session or proof. Times called `now` are milliseconds of the gateway's clock.
struct ConnectionSession: ~Copyable {
    private enum State {
        /// Nobody has shown a valid token yet. Goes to `bound`, to `guest`, or to `ended`.
        case unknown
        /// Belongs to this session. Goes to `bound` with a newer session of the same identity, or to `ended`.
        /// - shownAt: when the connection showed the token that bound it.
        case bound(Session, shownAt: Int64)
        /// Belongs to this guest. Goes to `guest` with a newer proof of the same one, or to `ended`. Out of line: most
        /// connections are no guest's.
        indirect case guest(Guest, shownAt: Int64)
        /// The connection is closed. Frames that waited for uses are handled as this session's. Terminal.
        case ended(Session?)
    }

    private var state = State.unknown
    private var transition: Transition?

    // MARK: Frames

    /// The action for a frame.
    enum FrameAction: Equatable {
        /// It needs no session.
        case handleWithoutSession
        /// - isFirstUse: of a refreshed token. Auth is to hear of it, so that the old token ends everywhere.
        case handle(Session, isFirstUse: Bool)
        case handleAsGuest(Guest)
        case refuse(Refusal)
        /// It waits, and this token is to be looked up.
        case lookUp(ShownToken)
        /// It waits behind others.
        case wait
        /// A race: the connection ended while the frame waited. Nobody can be answered.
        case ignore
    }

    /// A frame has come from the client.
    mutating func received(_ frame: ReceivedFrame, at now: Int64, wallClock: Timestamp) -> FrameAction {
        guard let transition = self.transition else { return self.decide(frame, at: now, wallClock) }
        switch transition.pause {
        case .uses: return transition.append(frame)
        case .lookUp where frame.definition.principal != .anybody: return transition.append(frame)
        case .lookUp: return self.decide(frame, at: now, wallClock)
        case .none:
            assert(transition.waiting.isEmpty, "frames wait for nothing")
            return self.decide(frame, at: now, wallClock)
        }
    }

    /// The next frame that has waited and may go on. Ask after each event, until there is none.
    mutating func next(at now: Int64, wallClock: Timestamp) -> (frame: ReceivedFrame, action: FrameAction)? {
        guard let transition = self.transition, case .none = transition.pause else { return nil }
        guard let first = transition.removeFirst() else {
            self.endTransitionIfOver()
            return nil
        }
        if let refusal = first.refusal { return (first.frame, .refuse(refusal)) }
        return (first.frame, self.decide(first.frame, at: now, wallClock))
    }

    /// The frame was to be handled, and needs uses of a rate that are being leased. It waits, and so does all behind it.
    mutating func awaitUses(_ frame: ReceivedFrame) {
        let transition = self.transition ?? Transition()
        self.transition = transition
        transition.pause(for: .uses, frame)
    }

    /// The lease was granted, refused or not answered: each can be decided now.
    mutating func usesArrived() {
        if let transition = self.transition, case .uses = transition.pause { transition.pause = .none }
    }

    private mutating func decide(_ frame: ReceivedFrame, at now: Int64, _ wallClock: Timestamp) -> FrameAction {
        guard frame.definition.principal != .anybody else { return self.isEnded ? .ignore : .handleWithoutSession }
        switch frame.token {
        case nil: return .refuse(.notRegistered)
        case .session(let hash): return self.decide(frame, ofSession: hash, at: now, wallClock)
        case .guest(let hash): return self.decide(frame, ofGuest: hash, at: now, wallClock)
        }
    }

    private mutating func decide(
        _ frame: ReceivedFrame, ofGuest hash: Bytes32, at now: Int64, _ wallClock: Timestamp
    ) -> FrameAction {
        guard let guest = self.guest, constantTimeEqual(guest.tokenHash, hash) else {
            return self.lookUp(.guest(hash), for: frame, at: now)
        }
        return guest.expiresAt <= wallClock ? .refuse(.notRegistered) : .handleAsGuest(guest)
    }

    private mutating func decide(
        _ frame: ReceivedFrame, ofSession hash: Bytes32, at now: Int64, _ wallClock: Timestamp
    ) -> FrameAction {
        guard let session = self.session else { return self.lookUp(.session(hash), for: frame, at: now) }
        if let retired = self.transition?.retired, constantTimeEqual(retired, hash) { return .refuse(.notRegistered) }
        if let successor = self.transition?.successor {
            if constantTimeEqual(successor.session.tokenHash, hash) {
                // First use of the refreshed token: the old one is worth nothing from here on.
                self.replaceSession(with: successor.session)
                self.transition!.successor = nil
                self.transition!.retired = session.tokenHash
                return Self.action(for: successor.session, isFirstUse: true, wallClock)
            }
            if now >= successor.oldTokenEndsAt, constantTimeEqual(session.tokenHash, hash) {
                return .refuse(.notRegistered)
            }
        }
        guard constantTimeEqual(session.tokenHash, hash) else {
            return self.lookUp(.session(hash), for: frame, at: now)
        }
        return Self.action(for: session, isFirstUse: false, wallClock)
    }

    private static func action(for session: Session, isFirstUse: Bool, _ wallClock: Timestamp) -> FrameAction {
        if session.expiresAt <= wallClock { return .refuse(.notRegistered) }
        if session.isBanned { return .refuse(.banned) }
        return .handle(session, isFirstUse: isFirstUse)
    }

    private mutating func lookUp(_ token: ShownToken, for frame: ReceivedFrame, at now: Int64) -> FrameAction {
        guard !self.isEnded else { return .ignore }
        let transition = self.transition ?? Transition()
        self.transition = transition
        transition.pause(for: .lookUp(token, since: now), frame)
        return .lookUp(token)
    }

    // MARK: Look-ups

    enum LookUpAction: Equatable {
        /// Frames that waited go on (`next`).
        case goOn
        /// Bind the connection (`bind`), which showed the token then. Then frames that waited go on.
        case bind(Session, shownAt: Int64)
        /// The same for a guest.
        case bindGuest(Guest, shownAt: Int64)
        /// Refuse the first frame that waits (`firstWaiting`), and close the connection.
        case close(Refusal, CloseCode)
        /// The session or guest of another token came: a bug of who answered. It is nobody's, and frames go on.
        case anotherToken
    }

    /// The look-up of a session's token was answered.
    /// - Parameter found: `nil` if the token is nobody's.
    mutating func lookedUp(_ found: Session?, wallClock: Timestamp) -> LookUpAction {
        // A race: the connection has ended.
        guard let transition = self.transition, case .lookUp(.session(let hash), let since) = transition.pause else {
            return .goOn
        }
        guard let found else {
            self.lookUpFailed(.notRegistered)
            return .goOn
        }
        guard found.tokenHash == hash else {
            self.lookUpFailed(.unavailable)
            return .anotherToken
        }
        // A race: answers overtake each other, and the cache may be behind.
        guard found.expiresAt > wallClock, !self.isPast(found.caller) else {
            self.lookUpFailed(.notRegistered)
            return .goOn
        }
        transition.pause = .none
        if self.isOfAnother(found) { return .close(.anotherPrincipal, .sessionReplaced) }
        if found.isBanned { return .close(.banned, .banned) }
        guard self.session?.caller.epoch == found.caller.epoch else { return .bind(found, shownAt: since) }
        self.replaceSession(with: found)
        return .goOn
    }

    /// The look-up of a guest's token was answered.
    /// - Parameter found: `nil` if the token is nobody's.
    mutating func lookedUp(_ found: Guest?, wallClock: Timestamp) -> LookUpAction {
        // A race: the connection has ended.
        guard let transition = self.transition, case .lookUp(.guest(let hash), let since) = transition.pause else {
            return .goOn
        }
        guard let found else {
            self.lookUpFailed(.notRegistered)
            return .goOn
        }
        guard found.tokenHash == hash else {
            self.lookUpFailed(.unavailable)
            return .anotherToken
        }
        // A race: the cache may be behind.
        guard found.expiresAt > wallClock, !self.isPast(found) else {
            self.lookUpFailed(.notRegistered)
            return .goOn
        }
        transition.pause = .none
        if self.isOfAnother(found) { return .close(.anotherPrincipal, .sessionReplaced) }
        if found.isBanned { return .close(.bannedGuest, .banned) }
        // A race: a proof has bound the connection to the same guest meanwhile.
        guard self.guest?.epoch == found.epoch else { return .bindGuest(found, shownAt: since) }
        return .goOn
    }

    /// The look-up failed, or was not allowed. Frames with its token are refused, each in its turn; others go on.
    mutating func lookUpFailed(_ refusal: Refusal) {
        // A race: the connection has ended.
        guard let transition = self.transition, case .lookUp(let token, _) = transition.pause else { return }
        transition.pause = .none
        transition.refuse(token, with: refusal)
    }

    // MARK: Sessions

    /// The session that the connection belongs to, or did when it ended.
    var session: Session? {
        switch self.state {
        case .unknown, .guest: nil
        case .bound(let session, _): session
        case .ended(let session): session
        }
    }

    enum LoginAction: Equatable {
        /// Bind the connection (`bind`), and welcome the client.
        case bind
        /// A race: a newer login was answered first. The client hears of both.
        case welcome
        /// Refuse the login, and close the connection.
        case close(Refusal, CloseCode)
    }

    /// Auth has accepted a login on this connection.
    func loggedIn(_ session: Session) -> LoginAction {
        if self.isOfAnother(session) { return .close(.anotherPrincipal, .sessionReplaced) }
        return self.isPast(session.caller) ? .welcome : .bind
    }

    /// Whether this connection stays its identity's live one although another showed this session's token.
    ///
    /// A newer session wins. Within one session, the connection that showed the token last wins: looking a token up may
    /// take as long as an outage, and answers overtake each other.
    func staysLive(against session: Session, shownAt: Int64) -> Bool {
        guard case .bound(let own, let ownShownAt) = self.state else { return false }
        if self.isPast(session.caller) { return true }
        return own.caller.epoch == session.caller.epoch && ownShownAt > shownAt
    }

    /// The connection belongs to this session from here on. Tokens of the session before are worth nothing.
    mutating func bind(to session: Session, shownAt: Int64) {
        assert(!self.isEnded && !self.isOfAnother(session) && !self.isPast(session.caller), "bound to a past session")
        self.state = .bound(session, shownAt: shownAt)
        self.transition?.successor = nil
        self.transition?.retired = nil
        self.endTransitionIfOver()
    }

    /// Auth has given the session its next token. Both are valid until the new one is used, or the old one's time is up.
    /// - Parameter presented: the token (its hash) that asked.
    mutating func refreshed(_ successor: Session, presented: Bytes32, at now: Int64) {
        // A race: the connection has another token by now, from a repeated request or a login.
        guard case .bound(let own, _) = self.state, own.tokenHash == presented else { return }
        let transition = self.transition ?? Transition()
        self.transition = transition
        // Asking once more does not let the old one live longer.
        let known = transition.successor.flatMap { $0.session.tokenHash == successor.tokenHash ? $0 : nil }
        transition.successor = Successor(
            session: successor, oldTokenEndsAt: known?.oldTokenEndsAt ?? now + Limits.refreshOverlap.milliseconds)
    }

    /// The token (its hash) that the client will use next.
    var newestToken: Bytes32? {
        (self.transition?.successor?.session ?? self.session)?.tokenHash ?? self.guest?.tokenHash
    }

    /// Whether the time of the session and of its next token, or of the guest, is up.
    func hasExpired(at wallClock: Timestamp) -> Bool {
        let newest = (self.transition?.successor?.session ?? self.session)?.expiresAt ?? self.guest?.expiresAt
        return newest.map { $0 <= wallClock } ?? false
    }

    // MARK: Guests

    /// The guest that the connection belongs to.
    var guest: Guest? {
        if case .guest(let guest, _) = self.state { guest } else { nil }
    }

    /// It belongs to a session or a guest, or did when it ended.
    var isSomebodys: Bool { self.session != nil || self.guest != nil }

    /// Whether a proof of a guest's keys may go on here (contract §19.16). Otherwise the connection is closed at once.
    /// - Parameter guest: who has the keys; `nil` if that shows later.
    func mayProve(_ guest: GuestID?) -> Bool {
        switch self.state {
        case .unknown: true
        case .guest(let own, _): guest == nil || guest == own.id
        case .bound, .ended: false
        }
    }

    /// Auth has accepted a guest's proof on this connection.
    func proved(_ guest: Guest) -> LoginAction {
        if self.isOfAnother(guest) { return .close(.anotherPrincipal, .sessionReplaced) }
        return self.isPast(guest) ? .welcome : .bind
    }

    /// Whether this connection stays its guest's although another showed this guest's token, or proved the keys. As with
    /// sessions.
    func staysLive(against guest: Guest, shownAt: Int64) -> Bool {
        self.staysLive(against: guest.epoch, shownAt: shownAt)
    }

    /// The same for a connection at another gateway. Each gateway says for how long its connection has been the guest's, because
    /// the clocks of two may differ. The way of the news counts against this one: never are both the newer one.
    func staysLive(against epoch: Epoch, shownAt: Int64) -> Bool {
        guard case .guest(let own, let ownShownAt) = self.state else { return false }
        return own.epoch > epoch || own.epoch == epoch && ownShownAt > shownAt
    }

    /// Milliseconds since the guest has shown the token, or proved its keys, on this connection.
    func guestAge(at now: Int64) -> Int64? {
        if case .guest(_, let shownAt) = self.state { now - shownAt } else { nil }
    }

    /// The connection belongs to this guest from here on.
    mutating func bind(to guest: Guest, shownAt: Int64) {
        assert(!self.isEnded && !self.isOfAnother(guest) && !self.isPast(guest), "bound to a past proof")
        self.state = .guest(guest, shownAt: shownAt)
        self.endTransitionIfOver()
    }

    /// - Returns: whether the connection ends with all proofs of its guest before this epoch.
    func guestEnded(before epoch: Epoch) -> Bool { self.guest.map { $0.epoch < epoch } ?? false }

    /// A token that the connection was bound by was looked up again: the Notice of its end may be lost.
    /// - Parameter found: `nil` if the token (its hash) is nobody's by now.
    /// - Returns: why the connection ends, if it does.
    func guestFound(_ found: Guest?, of hash: Bytes32) -> ClusterNotice.EndReason? {
        // A race: a newer proof has given it another token.
        guard let guest = self.guest, guest.tokenHash == hash else { return nil }
        guard let found, found.epoch == guest.epoch else { return .replaced }
        return found.isBanned ? .banned : nil
    }

    // MARK: Ends

    /// The action after a notice that a session is no longer the live one.
    enum ReplacedAction: Equatable {
        /// A race: it is about an older session. The connection has logged in again meanwhile.
        case ignore
        /// A race: the login under way may be the newer one, and the router faster than auth. If it is not, the router
        /// says so when the connection is announced to it again.
        case announceAgain
        case end
    }

    /// The session of this epoch is not the live one any more.
    func replaced(_ epoch: Epoch, changesSession: @autoclosure () -> Bool) -> ReplacedAction {
        if let own = self.session?.caller.epoch, own > epoch { return .ignore }
        return changesSession() ? .announceAgain : .end
    }

    /// All sessions before this epoch have ended.
    func sessionsEnded(
        before epoch: Epoch, why: ClusterNotice.EndReason, changesSession: @autoclosure () -> Bool
    ) -> ReplacedAction {
        guard let own = self.session?.caller.epoch, own < epoch else { return .ignore }
        switch why {
        case .replaced: return self.replaced(own, changesSession: changesSession())
        case .banned: return .end
        }
    }

    /// A router found that this session had asked, and that it is not the live one.
    /// - Parameter asked: `nil` if no session had asked.
    /// - Returns: also whether the client is told that its request failed. If the connection ends, that tells it.
    func wasStale(_ asked: Epoch?, changesSession: @autoclosure () -> Bool) -> (refuses: Bool, action: ReplacedAction) {
        if self.isPast(asked) { return (true, .ignore) }
        return changesSession() ? (true, .announceAgain) : (false, .end)
    }

    /// - Returns: whether the connection ends with the logout of this session.
    func loggedOut(_ asked: Epoch?) -> Bool { !self.isPast(asked) }

    /// The connection is closed. Harmless if it was before.
    /// - Returns: whether frames wait for uses and are still handled: after a lost receipt the message would come again.
    mutating func ended() -> Bool {
        if self.isEnded { return false }
        self.state = .ended(self.session)
        if let transition = self.transition, case .uses = transition.pause,
            transition.waitingBytes <= GatewayLimits.heldBytesUncounted
        {
            return true
        }
        self.transition = nil
        return false
    }

    // MARK: What waits

    var firstWaiting: ReceivedFrame? { self.transition?.waiting.first?.frame }

    var waitingBytes: Int { self.transition?.waitingBytes ?? 0 }

    var awaitsUses: Bool {
        if case .uses = self.transition?.pause { true } else { false }
    }

    // MARK: Comparisons

    private var isEnded: Bool {
        if case .ended = self.state { true } else { false }
    }

    private func isOfAnother(_ other: Session) -> Bool {
        self.guest != nil || self.session.map { $0.caller.identity != other.caller.identity } ?? false
    }

    private func isOfAnother(_ other: Guest) -> Bool {
        self.session != nil || self.guest.map { $0.id != other.id } ?? false
    }

    /// Whether it is of an older proof of the connection's own guest.
    private func isPast(_ other: Guest) -> Bool {
        self.guest.map { $0.id == other.id && other.epoch < $0.epoch } ?? false
    }

    /// Whether it is of an older session of the connection's own identity.
    private func isPast(_ caller: Caller) -> Bool {
        self.session?.caller.identity == caller.identity && self.isPast(caller.epoch)
    }

    private func isPast(_ epoch: Epoch?) -> Bool {
        guard let epoch, let own = self.session?.caller.epoch else { return false }
        return epoch < own
    }

    /// The same session under another token.
    private mutating func replaceSession(with session: Session) {
        switch self.state {
        case .unknown, .guest: assertionFailure("a connection without a session has no token to replace")
        case .bound(_, let shownAt): self.state = .bound(session, shownAt: shownAt)
        case .ended: self.state = .ended(session)
        }
    }

    private mutating func endTransitionIfOver() {
        if self.transition?.isOver == true { self.transition = nil }
    }
}

// MARK: Rare state

/// Why frames of a connection wait.
private enum Pause {
    /// They do not.
    case none
    /// The token is being looked up, since `now`. Frames that need one wait. Goes to `none`.
    case lookUp(ShownToken, since: Int64)
    /// The first frame that waits needs uses of a rate that are being leased. All frames wait. Goes to `none`.
    case uses
}

/// A session under its next token, which was not used yet.
private struct Successor {
    var session: Session
    /// From then on the old token is worth nothing even if the new one was never used.
    var oldTokenEndsAt: Int64
}

private struct WaitingFrame {
    var frame: ReceivedFrame
    /// Its token was found to be invalid.
    var refusal: Refusal?
}

/// Rare state of a connection, out of line to keep idle connections small.
private final class Transition {
    var successor: Successor?
    /// The token (its hash) before the present one; worth nothing, although the cache may not know it yet.
    var retired: Bytes32?
    var pause = Pause.none
    /// In the order in which they came.
    private(set) var waiting: Deque<WaitingFrame> = []
    private(set) var waitingBytes = 0

    var isOver: Bool {
        if case .none = self.pause {
            self.successor == nil && self.retired == nil && self.waiting.isEmpty
        } else {
            false
        }
    }

    /// Behind the others.
    func append(_ frame: ReceivedFrame) -> ConnectionSession.FrameAction {
        guard self.waiting.count < GatewayLimits.framesWaitingMax,
            self.waitingBytes + frame.bytes <= GatewayLimits.bytesWaitingMax
        else { return .refuse(.tooManyWait) }
        self.waiting.append(WaitingFrame(frame: frame))
        self.waitingBytes += frame.bytes
        return .wait
    }

    /// In front of the others: it came before them. It fits, because none waited, or it was just taken from here.
    func pause(for reason: Pause, _ frame: ReceivedFrame) {
        self.pause = reason
        self.waiting.prepend(WaitingFrame(frame: frame))
        self.waitingBytes += frame.bytes
    }

    func removeFirst() -> WaitingFrame? {
        guard let first = self.waiting.popFirst() else { return nil }
        self.waitingBytes -= first.frame.bytes
        if self.waiting.isEmpty { self.waiting = [] }
        return first
    }

    func refuse(_ token: ShownToken, with refusal: Refusal) {
        for index in self.waiting.indices {
            guard let own = self.waiting[index].frame.token, own.isSame(as: token) else { continue }
            self.waiting[index].refusal = refusal
        }
    }
}
