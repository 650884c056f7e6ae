import Bus
import ClusterContract
package import Contract

/// Everything a router is told from outside.
package struct RouterConfiguration: Sendable {
    /// How long mail and outcomes are kept (contract §5: 72 h).
    package var pendingTTL: Duration
    /// Mail that a live connection has not acknowledged is sent again after this, then ever more rarely.
    package var resendAfter: Duration
    /// How often a router looks who owns which partition. `RouterLimits.leaseInterval`, by default.
    package var leaseInterval: Duration
    package var presence: PresenceConfiguration
    /// Jobs taken from each partition in one batch.
    package var jobsPerPartitionMax: Int
    /// The most mail that may wait in one mailbox (contract §13a).
    package var bounds: MailBounds
    /// Bytes that may wait from all senders without any peer, in all mailboxes together (contract §13b).
    package var strangersStoreBytesMax: Int
    /// `RouterLimits.pagesPerReadMax`, by default.
    package var pagesPerReadMax: Int
    /// `RouterLimits.wakesWaitingMax`, by default.
    package var wakesWaitingMax: Int
    package var groups: GroupConfiguration

    package init(
        pendingTTL: Duration = Limits.pendingTTL, resendAfter: Duration = .seconds(15),
        leaseInterval: Duration = RouterLimits.leaseInterval,
        presence: PresenceConfiguration = PresenceConfiguration(), bounds: MailBounds = MailBounds(),
        strangersStoreBytesMax: Int = Limits.strangersStoreBytesMax,
        jobsPerPartitionMax: Int = RouterLimits.jobsPerPartitionMax,
        pagesPerReadMax: Int = RouterLimits.pagesPerReadMax, wakesWaitingMax: Int = RouterLimits.wakesWaitingMax,
        groups: GroupConfiguration = GroupConfiguration()
    ) {
        self.pendingTTL = pendingTTL
        self.resendAfter = resendAfter
        self.leaseInterval = leaseInterval
        self.presence = presence
        self.bounds = bounds
        self.strangersStoreBytesMax = strangersStoreBytesMax
        self.jobsPerPartitionMax = jobsPerPartitionMax
        self.pagesPerReadMax = pagesPerReadMax
        self.wakesWaitingMax = wakesWaitingMax
        self.groups = groups
    }
}

/// Bounds of one router process.
package enum RouterLimits {
    /// `RouterConfiguration.jobsPerPartitionMax`, by default.
    package static let jobsPerPartitionMax = 16
    /// Bytes of Jobs that a batch should hold; it takes the fewer Jobs the longer they are.
    package static let intakeBytes = 8 << 20
    /// Mailboxes read at once, each up to a page; the next are read when Redis has taken those.
    package static let pagesPerReadMax = 16
    /// Bytes of pages in one batch; who asked behind them is to ask again. Everybody else's messages wait for the batch.
    package static let pageBytesMax = 64 << 20
    /// Bytes of mail read for connections that are behind before others have their turn. They go on within a second.
    package static let catchUpBytesMax = 16 << 20
    /// Wake-ups waiting in their stream before routers keep new ones back: beyond its bound Redis would drop the
    /// oldest.
    package static let wakesWaitingMax = BusLimits.streamEntriesMax / 2
    /// Statements of `sweepRowsMax` rows that one sweep runs on one table.
    package static let sweepStatementsMax = 100
    /// Reads of one Job at a time after the database has refused a batch: twice what one batch may hold.
    package static let poisonIsolationReads = 2 * RouterLimits.jobsPerPartitionMax * Partition.count
    /// Attempts to commit a batch while other transactions are in its way, before the router starts over.
    package static let commitAttemptsMax = 3
    /// How long one look for Jobs waits. Also how late a new partition is first read.
    package static let readBlockMax = Duration.seconds(1)
    /// From one read of Jobs to the next, while several come within it: fewer batches mean fewer wake-ups and commits.
    package static let readInterval = Duration.milliseconds(4)
    /// Jobs expected within `readInterval` for which a read waits.
    package static let readJobsWorthWaiting = 2.0
    /// Jobs expected within `readInterval` for which a batch is read and verified while the batch before it commits.
    package static let readJobsWorthOverlapping = 16.0
    /// Over how long the rate of Jobs is measured.
    package static let readRateWindow = Duration.milliseconds(100)
    /// How long Jobs for which nobody waits (receipts, confirmations) may wait for others, and how many of them (`DeferredJobs`).
    package static let deferredJobsHeldFor = Duration.milliseconds(50)
    package static let deferredJobsMax = 256
    /// Jobs expected within `deferredJobsHeldFor` for which they wait, and over how long the rate of Jobs is measured.
    package static let deferredJobsWorthHolding = 3.0
    package static let deferredJobsRateWindow = Duration.milliseconds(500)
    /// Between two looks at who owns which partition.
    package static let leaseInterval = Duration.seconds(1)
    /// The same, and how long a read waits, where nothing has happened for `idleAfter`. An idle router wakes half as often.
    package static let idleInterval = Duration.seconds(2)
    package static let idleAfter = Duration.seconds(10)
    /// A router whose database session has said nothing for this long is taken for frozen, and its session ended.
    package static let frozenAfter = Duration.seconds(5)
    /// After a failure of bus or store, before trying again.
    package static let retryPause = Duration.milliseconds(200)
    /// Messages read from a mailbox at once, to be sent live.
    package static let messagesPerReadMax = Limits.fetchPendingMax
    /// Live mail is held back for a client that pages, at most this long after its last page.
    package static let holdMax = Duration.seconds(10)
    /// Between two reconciliations of connections. A connection whose end was lost is believed live for at most this
    /// long.
    package static let reconciliationPause = Duration.seconds(5)
    /// Parts of a router's sessions whose timers are looked at one after the other, each once a second: with 150,000 sessions
    /// a look at all of them would keep a batch waiting for 16 ms.
    package static let timerSlices = 8
    /// The longest `RouterConfiguration.resendAfter`. Less than `Limits.resendWithin`: timers wait for the batch under way.
    package static let resendAfterMax = Duration.seconds(25)
    /// Longest pause between two attempts to have the same mail acknowledged.
    package static let resendPauseMax = Duration.seconds(300)
    /// Group events read at once. With their members written out, one is up to 25 kB.
    package static let groupEventsPerReadMax = 32
    /// Two connections of one session that are announced for the first time within this may have waited for the bus: the clocks of
    /// their gateways tell which is the newer one. Short, because clocks may be wrong.
    package static let newcomerTime = Duration.seconds(2)
    /// The day in which additions of strangers are counted (contract §13a).
    package static let groupStrangersWindow = Duration.seconds(86_400)
    /// Questions about groups that one router answers at a time, and its database connections for that.
    package static let groupJobsMax = 16
    package static let groupConnectionsMax = 2
    /// Groups that an erased identity leaves in one go, and events that lose its name.
    package static let groupsLeftAtOnce = 100
    /// Between two looks whether the ledger is to be walked; how long an erasure waits for it; and erasures of one walk.
    package static let ledgerWalkLookEvery = Duration.seconds(5)
    package static let ledgerWalkAfter = Duration.seconds(23 * 3_600)
    package static let erasuresPerWalk = 10_000
    /// A statement of a walk reads all of a day.
    package static let ledgerWalkStatementMax = Duration.seconds(3_600)
    /// Between two walks, while mail of an erased identity waits.
    package static let ledgerWalkPause = Duration.seconds(3_600)
    /// A question about groups taken this long ago and not acknowledged lost its router, or its answer.
    package static let groupClaimIdle = Duration.seconds(5)
    /// Between two looks for such questions.
    package static let groupClaimEvery = Duration.seconds(3)
    /// How long one read of the stream waits for a question, and so how long a drain waits for that read.
    package static let groupTakeBlockMax = Duration.seconds(2)
    /// Transactions tried for one change of a group while others get in its way, before INTERNAL_ERROR.
    package static let groupAttemptsMax = 5
    /// How long an event that everybody has heard of is kept to answer its question again. Longer than any question waits.
    package static let groupEventTTL = Duration.seconds(3_600)
    /// A recipient that is away is woken at most once in this time.
    package static let wakePause = Duration.seconds(10)
    /// Recipients remembered as woken.
    package static let wakesRememberedMax = 200_000
    /// Recipients with mail that are remembered of one partition. A partition with more asks the store about everybody.
    package static let recipientsRememberedMax = 5_000
    /// Recipients, and their senders in all, whose mailboxes' loads are remembered (`MailboxLoads`). With more, all are counted again.
    package static let loadsRememberedMax = 100_000
    package static let loadSendersRememberedMax = 100_000
    /// Between two countings of a mailbox that seems to be full. So late it may be noticed that its owner has read some of it.
    package static let recountPause = Duration.seconds(10)
    /// Mailboxes that a router names to operators with each sweep, and how much of its bound one holds at least.
    package static let fullMailboxesNotedMax = 20
    package static let fullMailboxLeast = 0.1
    /// Between two counts of the mail of all senders without any peer, by whichever router. Each learns it within `lingeringInterval`.
    package static let strangersCountedEvery = Duration.seconds(30)
    /// How long it counts what was counted: who is whose peer changes.
    package static let countedFor = Duration.seconds(600)
    /// Neighbouring partitions that one statement looks through, at most (`PartitionRun`).
    package static let partitionsTogetherMax = 8
    /// Messages of one run of partitions that are counted for a gauge; more are estimated.
    package static let pendingCountedMax: Int64 = 20_000
    /// Rows of the young segments of one run of partitions that are looked through for the oldest. More than they are made to hold.
    package static let youngRowsMax: Int64 = 200_000
    /// Rounds of one sweep, each of `sweepRowsMax` messages that are due in each run of partitions. If more are due the next sweep comes at once.
    package static let expiryRoundsMax = 20
    /// Messages verified together on one core, in about 0.3 ms, before it is worth using another.
    package static let verifyTogetherMax = 16
    package static let ledgerTTL = Limits.ledgerTTL
    /// Days after today for which the ledger has a table. Without one, a day's messages are remembered in the table of no day.
    package static let ledgerDaysAhead: Int32 = 2
    /// Days of the ledger that one sweep drops.
    package static let ledgerDaysDroppedMax = 4
    /// Rows that one sweep removes from one table before it lets others work.
    package static let sweepRowsMax: Int64 = 5_000
    /// How long a connected sender's outcome may be unconfirmed before it is told again.
    package static let lingeringInterval = Duration.seconds(5)
    /// Numbers of outcomes that a router's first look for them goes back.
    package static let lingeringLookBack: Int64 = 50_000
    /// Pages of `sweepRowsMax` outcomes looked through for them at once.
    package static let lingeringPagesMax = 10
    /// So many times it is told again; later when its sender binds.
    package static let lingeringTurns = 4
    package static let sweepInterval = Duration.seconds(30)
    /// Between two looks at which segment's turn comes next: while fewer numbers than `quietNumbersMax` are drawn between two looks, while
    /// more are, and while a segment is being cleared. A segment takes 65,536 numbers.
    package static let quietClearingInterval = Duration.seconds(2)
    package static let quietNumbersMax: Int64 = 2_000
    package static let clearingInterval = Duration.milliseconds(500)
    /// Also how long a read waits for Jobs while rows of the segment are still to be moved.
    package static let clearingPause = Duration.milliseconds(50)
    /// Before a segment that could not be emptied is tried again.
    package static let recycle = Backoff(first: .milliseconds(250), longest: .seconds(10))
    /// Rows moved to a kept segment in one transaction between two batches.
    package static let keptAtOnceMax: Int64 = 500
}
