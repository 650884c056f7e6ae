import Contract

/// Everything a router is told from outside.
package struct RouterConfiguration: Sendable {
    /// How long mail and outcomes are kept (contract §5: 72 h).
    package var pendingTTL: Duration
    /// Mail that a live connection has not acknowledged is sent again after this, then ever more rarely.
    package var resendAfter: Duration

    package init(pendingTTL: Duration = Limits.pendingTTL, resendAfter: Duration = .seconds(15)) {
        self.pendingTTL = pendingTTL
        self.resendAfter = resendAfter
    }
}

/// Bounds of one router process.
package enum RouterLimits {
    /// Jobs taken from each partition in one batch.
    package static let jobsPerPartitionMax = 64
    /// How long one look for Jobs waits. Also how late a new partition is first read.
    package static let readPatience = Duration.milliseconds(500)
    /// Between two looks at who owns which partition.
    package static let leaseInterval = Duration.seconds(1)
    /// A router whose database session has said nothing for this long is taken for frozen, and its session ended.
    package static let frozenAfter = Duration.seconds(5)
    /// After a failure of bus or store, before trying again.
    package static let retryPause = Duration.milliseconds(200)
    /// Letters read from a mailbox at once, to be sent live.
    package static let lettersPerReadMax = Limits.fetchPendingMax
    /// Live mail is held back for a client that pages, at most this long after its last page.
    package static let holdMax = Duration.seconds(10)
    /// Longest pause between two attempts to have the same mail acknowledged.
    package static let resendPauseMax = Duration.seconds(300)
    /// Outcomes sent to a client that binds; it asks for more when it has them.
    package static let outcomesPerBindMax = 1_000
    /// A recipient that is away is woken at most once in this time.
    package static let wakePause = Duration.seconds(10)
    /// Recipients remembered as woken.
    package static let wakesRememberedMax = 200_000
    /// Messages verified on one core before it is worth using another.
    package static let verifyTogetherMax = 6
    /// How long the ledger remembers a message.
    package static let ledgerTTL = Duration.seconds(14 * 86_400)
    /// Rows that one sweep removes from one table before it lets others work.
    package static let sweepRowsMax: Int64 = 5_000
    /// How long a connected sender's outcome may be unconfirmed before it is told again.
    package static let lingeringInterval = Duration.seconds(5)
    package static let sweepInterval = Duration.seconds(30)
    /// How long a drain waits for the batch under way.
    package static let drainMax = Duration.seconds(5)
}
