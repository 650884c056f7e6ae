import ClusterContract
import Contract

/// How far mail has been written to one connection, and whether the router of the mailbox agrees.
///
/// They may disagree after a lost Notice or a change of the router. Then the gateway announces the connection, and
/// writes no live mail to it until a router answers. That router's mail begins exactly behind the announced position.
struct DeliveryCursor {
    /// Wall-clock time at which the connection was bound to its session. Other gateways compare it with theirs.
    let boundAt: Timestamp
    /// Whether a router has confirmed the connection. Until then it is announced repeatedly.
    private(set) var isConfirmed = false
    /// How much routers may know of the connection since the bind.
    private(set) var state = BoundConnection.AnnouncementState.new
    /// Milliseconds of the gateway's clock.
    private(set) var announcedAt: Int64 = 0
    /// Number of announcements so far.
    private var announcements: UInt32 = 0
    /// The first announcement whose answer confirms. Mail sent before the answer to an older one may be lost.
    private var confirmableFrom: UInt32 = 1
    /// No router has answered yet since the bind, neither to the announcement nor with a page.
    private var isFresh = true
    /// All waiting mail has been written, so mail goes live. It stays so until the connection is bound anew.
    private var isCaughtUp = false
    /// The highest number written.
    private var sentThrough: Int64 = 0

    init(boundAt: Timestamp) { self.boundAt = boundAt }

    /// The connection as a router has to be told of it now.
    var progress: BoundConnection.Progress {
        if self.isFresh { return .fresh }
        return self.isCaughtUp ? .live(through: self.sentThrough) : .paging
    }

    /// The number of the next announcement.
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
        if self.state == .new { self.state = .unconfirmed }
    }

    enum BoundAction: Equatable { case none, announceAgain }

    /// The router's answer to an announcement.
    /// - Parameters:
    ///   - isCaughtUp: `false` if it holds mail back for a client that is still to read what waited.
    ///   - number: of the announcement.
    mutating func bound(isCaughtUp: Bool, answering number: UInt32) -> BoundAction {
        self.state = .confirmed
        self.isFresh = false
        guard number >= self.confirmableFrom else {
            // The client was caught up at that time. Later mail waits for the next confirmation, which fixes the start.
            if isCaughtUp { self.isCaughtUp = true }
            return .none
        }
        self.isConfirmed = true
        // A race: the announcement was sent before the last page came. The router would hold mail for a client that
        // does not ask for another page.
        if self.isCaughtUp, !isCaughtUp {
            self.mayHaveMissed()
            return .announceAgain
        }
        self.isCaughtUp = isCaughtUp
        return .none
    }

    /// The router sends a message live.
    /// - Parameter again: it was written before and has no receipt.
    /// - Returns: whether to write it.
    mutating func takes(_ number: Int64, again: Bool) -> Bool {
        // Routers send live mail only to connections that are caught up.
        guard self.isConfirmed else { return false }
        self.isCaughtUp = true
        // A new owner does not know what its predecessor sent.
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
