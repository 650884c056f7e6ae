import Contract

/// What the gateway and the mailbox's router agree on for one connection: which mail it has been given.
///
/// Whenever they may disagree, because a Notice may have been lost or another router has taken over, the gateway announces
/// the connection and writes no live mail to it until that is answered: what the router sends then begins exactly
/// behind what was announced.
struct MailboxProgress {
    /// When the connection was bound to its session, by the clock that other gateways have too.
    let boundAt: Timestamp
    /// A router has confirmed the connection; until then it is announced again and again.
    private(set) var isConfirmed = false
    /// What routers can have heard since the bind.
    private(set) var standing = BoundConnection.Standing.new
    /// Milliseconds of the gateway's clock.
    private(set) var announcedAt: Int64 = 0
    /// How often it was announced.
    private var announcements: UInt32 = 0
    /// The first announcement whose answer confirms. What the router had sent before it answered an older one may be lost.
    private var confirmableFrom: UInt32 = 1
    /// No router has answered yet since the bind, neither to the announcement nor with a page.
    private var isFresh = true
    /// All that waited has been written: mail goes live. Stays so until the connection is bound anew.
    private var isCaughtUp = false
    /// The highest number written.
    private var sentThrough: Int64 = 0

    init(boundAt: Timestamp) { self.boundAt = boundAt }

    /// The connection as a router has to be told of it now.
    var progress: BoundConnection.Progress {
        if self.isFresh { return .fresh }
        return self.isCaughtUp ? .live(through: self.sentThrough) : .paging
    }

    /// Of the next announcement.
    var nextNumber: UInt32 { self.announcements + 1 }

    func isAnnouncementDue(at now: Int64) -> Bool {
        !self.isConfirmed && now - self.announcedAt > GatewayLimits.announceAgainAfter.milliseconds
    }

    /// Something may have been lost. The announcement is due at once.
    mutating func mayHaveMissed() {
        self.isConfirmed = false
        self.announcedAt = 0
        self.confirmableFrom = self.nextNumber
    }

    mutating func announced(at now: Int64) {
        self.isConfirmed = false
        self.announcedAt = now
        self.announcements += 1
        if self.standing == .new { self.standing = .unconfirmed }
    }

    enum BoundAction: Equatable { case none, announceAgain }

    /// The router's answer to an announcement.
    /// - Parameters:
    ///   - isCaughtUp: `false` if it holds mail back for a client that is still to read what waited.
    ///   - number: of the announcement.
    mutating func bound(isCaughtUp: Bool, answering number: UInt32) -> BoundAction {
        self.standing = .confirmed
        self.isFresh = false
        guard number >= self.confirmableFrom else {
            // Nothing waited then that had not been written. What has come since goes live, once it is known from where on.
            if isCaughtUp { self.isCaughtUp = true }
            return .none
        }
        self.isConfirmed = true
        // A race: the announcement was sent before the last page came. The router would hold back mail for a client that has
        // no reason to ask for another page.
        if self.isCaughtUp, !isCaughtUp {
            self.mayHaveMissed()
            return .announceAgain
        }
        self.isCaughtUp = isCaughtUp
        return .none
    }

    /// The router sends a letter by itself.
    /// - Parameter again: it was written before and has not been acknowledged.
    /// - Returns: whether it is to be written.
    mutating func takes(_ number: Int64, again: Bool) -> Bool {
        // Routers send mail only to connections that are through with what waited.
        guard self.isConfirmed else { return false }
        self.isCaughtUp = true
        // A router that has just taken over does not know what its predecessor sent.
        guard again || number > self.sentThrough else { return false }
        self.sentThrough = max(self.sentThrough, number)
        return true
    }

    /// A page was written.
    /// - Parameter last: its highest number, `nil` if it was empty.
    mutating func paged(through last: Int64?, isLast: Bool) {
        // The announcement may have been lost although this page's request was not.
        self.isFresh = false
        self.sentThrough = max(self.sentThrough, last ?? 0)
        if isLast { self.isCaughtUp = true }
    }
}
