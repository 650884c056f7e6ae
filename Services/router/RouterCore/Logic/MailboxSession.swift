package import ClusterContract
package import Contract

/// One recipient's live connection as its router sees it: decides what of the mailbox goes to it, and when.
///
/// Keeps one promise above all: mail reaches a connection in the order of its numbers, each number once, unless the client
/// does not acknowledge. Holds no socket, clock or task; times are the caller's clock in milliseconds.
package struct MailboxSession {
    package let caller: Caller
    package let node: NodeID
    package let connection: ConnectionID
    /// When it showed its token; later than that of the connection of its session whose place it has taken. If the clocks of
    /// their gateways differ, that one must not take its place back before it hears of its end.
    package let boundAt: Timestamp
    /// When this router heard of it, by its own clock.
    package let knownSince: Int64
    /// When it was announced for the first time, by the router's clock; `nil` for one that another router has known.
    private let newSince: Int64?

    enum Delivery: Equatable {
        /// Everything up to `through` has been sent; new mail goes out at once.
        case live(through: Int64)
        /// The client reads what waited, page by page, and has come to `through`. New mail is held back, since `heldSince`:
        /// it will be in a later page. Becomes `live` with the last page, `catchingUp` if the client stops paging.
        case paging(through: Int64, heldSince: Int64?)
        /// The router sends what lies behind `through` by itself. Becomes `live` at the end.
        case catchingUp(through: Int64)
    }

    private(set) var delivery: Delivery
    /// Live mail without a receipt: how much, the lowest number, and since when.
    private(set) var unacknowledged = 0
    private var unacknowledgedFrom: Int64 = 0
    private var unacknowledgedSince: Int64 = 0
    private var resends: Int64 = 0
    /// Mail was held back: nobody has seen it, or a page shows it, for which there may be no receipt either.
    private var hasHeldBack = false
    /// Stands for "some": how many, the mailbox says when it is read the next time.
    private static let some = Int.max / 2

    /// - Parameters:
    ///   - newest: the highest number waiting in the mailbox, `nil` if it is empty.
    ///   - known: the identity's session until now. The identity was not woken for mail that this session leaves.
    package init(_ bound: BoundConnection, newest: Int64?, after known: MailboxSession? = nil, at now: Int64) {
        self.caller = bound.caller
        self.node = bound.node
        self.connection = bound.connection
        self.boundAt = known.map { $0.floor(for: bound) } ?? bound.boundAt
        self.knownSince = now
        self.newSince = bound.state == .new && !bound.isReadAgain ? now : nil
        self.hasHeldBack = newest != nil && (known?.mayLeaveMail ?? false)
        switch bound.progress {
        case .fresh:
            // Waiting mail is the client's to fetch (contract §13).
            self.delivery = newest == nil ? .live(through: 0) : .paging(through: 0, heldSince: nil)
        case .paging:
            // Another router may have held back what waits, for a client that has long come to the end of its pages.
            self.delivery = .paging(through: 0, heldSince: newest.map { _ in now })
            if newest != nil { self.hasHeldBack = true }
        case .live(let through):
            self.delivery =
                newest.map { $0 > through } == true ? .catchingUp(through: through) : .live(through: through)
            // Another router, or this one before the bus was lost, may have sent some of it; the receipts may be lost, too.
            if newest != nil {
                self.unacknowledged = Self.some
                self.unacknowledgedSince = now
            }
        }
    }

    /// When a connection counts as bound that has taken this one's place, or is this one.
    private func floor(for bound: BoundConnection) -> Timestamp {
        guard bound.caller.epoch == self.caller.epoch else { return bound.boundAt }
        let isSame = bound.connection == self.connection && bound.node == self.node
        return max(bound.boundAt, isSame ? self.boundAt : self.boundAt + .milliseconds(1))
    }

    /// Announced for the first time, and just now: another that is announced for the first time need not be the newer one.
    package func isNew(at now: Int64) -> Bool {
        self.newSince.map { now - $0 < RouterLimits.newcomerTime.milliseconds } ?? false
    }

    /// Mail that was sent may be lost. Newer mail must not overtake it: it is held back until the gateway reports the
    /// connection's progress.
    package mutating func mayHaveLost(at now: Int64) {
        switch self.delivery {
        case .paging: break
        case .live(let through), .catchingUp(let through):
            let known = self.unacknowledged > 0 ? min(through, self.unacknowledgedFrom - 1) : through
            self.delivery = .paging(through: known, heldSince: now)
        }
    }

    /// Mail waits that perhaps nobody has told its owner of.
    package mutating func mayHaveBeenMissed() { self.hasHeldBack = true }

    package var isCaughtUp: Bool {
        if case .paging = self.delivery { false } else { true }
    }

    /// If the connection ends now, its client may not have got all that was accepted for it, and has to be woken.
    package var mayLeaveMail: Bool { self.unacknowledged > 0 || self.hasHeldBack }

    /// The client has been given all there is up to this number, or pages up to it.
    package var sentThrough: Int64 {
        switch self.delivery {
        case .live(let through), .paging(let through, _), .catchingUp(let through): through
        }
    }

    package enum AcceptedAction: Equatable { case send, hold }

    /// Mail was committed.
    package mutating func accepted(_ number: Int64, at now: Int64) -> AcceptedAction {
        switch self.delivery {
        case .live(let through):
            // A page read in the same transaction may have shown it already.
            guard number > through else { break }
            self.delivery = .live(through: number)
            self.sentLive(from: number, count: 1, at: now)
            return .send
        case .paging(let through, let heldSince):
            self.delivery = .paging(through: through, heldSince: heldSince ?? now)
        case .catchingUp: break
        }
        self.hasHeldBack = true
        return .hold
    }

    /// A page went to the client.
    /// - Parameter last: its highest number, `nil` if it was empty.
    package mutating func paged(last: Int64?, isLast: Bool, at now: Int64) {
        switch self.delivery {
        // Reading the mailbox again, from the beginning, takes nothing away from what is live.
        case .live(let through): self.delivery = .live(through: max(through, last ?? 0))
        case .catchingUp(let through): self.delivery = .catchingUp(through: max(through, last ?? 0))
        case .paging(let through, let heldSince):
            let through = max(through, last ?? 0)
            self.delivery =
                isLast ? .live(through: through) : .paging(through: through, heldSince: heldSince.map { _ in now })
        }
    }

    /// Messages were read and sent live, oldest first.
    /// - Parameter isAll: nothing lies behind them.
    package mutating func caughtUp(_ numbers: [Int64], isAll: Bool, at now: Int64) {
        guard case .catchingUp(let through) = self.delivery else { return }
        if let first = numbers.first { self.sentLive(from: first, count: numbers.count, at: now) }
        let last = max(through, numbers.last ?? 0)
        self.delivery = isAll ? .live(through: last) : .catchingUp(through: last)
    }

    private mutating func sentLive(from number: Int64, count: Int, at now: Int64) {
        if self.unacknowledged == 0 {
            self.unacknowledgedFrom = number
            self.unacknowledgedSince = now
            self.resends = 0
        }
        self.unacknowledged += count
    }

    /// A receipt removed mail with this number.
    package mutating func acknowledged(_ number: Int64) {
        guard self.unacknowledged > 0, number >= self.unacknowledgedFrom else { return }
        self.unacknowledged -= 1
        self.resends = 0
    }

    package enum TimerAction: Equatable {
        case none
        /// Read what lies behind this number and send it.
        case catchUp(after: Int64)
        /// Read what lies in this range, and send again what was accepted longer ago than the time to resend.
        case resend(after: Int64, through: Int64)
    }

    package mutating func timerFired(at now: Int64, resendAfter: Int64) -> TimerAction {
        switch self.delivery {
        case .catchingUp(let through): return .catchUp(after: through)
        case .paging(let through, let heldSince?) where now - heldSince >= RouterLimits.holdMax.milliseconds:
            self.delivery = .catchingUp(through: through)
            return .catchUp(after: through)
        case .paging: return .none
        case .live(let through):
            guard self.unacknowledged > 0 else { return .none }
            let pause = Backoff(first: .milliseconds(resendAfter), longest: RouterLimits.resendPauseMax)
                .pause(after: Int(self.resends) + 1)
            guard now - self.unacknowledgedSince >= pause.milliseconds else { return .none }
            return .resend(after: self.unacknowledgedFrom - 1, through: through)
        }
    }

    /// The mail in the requested range has been read, and all that is old enough has been sent again.
    /// - Parameters:
    ///   - first: the lowest number found there.
    ///   - youngSince: when the oldest mail was accepted that is too young to be sent again.
    ///   - isAll: nothing lies behind what was read.
    package mutating func resent(count: Int, from first: Int64?, youngSince: Int64?, isAll: Bool, at now: Int64) {
        self.unacknowledged = isAll && youngSince == nil ? count : Self.some
        self.unacknowledgedFrom = first ?? 0
        self.unacknowledgedSince = youngSince ?? now
        self.resends = youngSince == nil ? self.resends + 1 : 0
    }
}
