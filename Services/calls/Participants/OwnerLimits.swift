package import Contract

/// The bounds that owners of calls, of live conversations and of rooms have in common.
package enum OwnerLimits {
    /// Jobs taken from each share in one batch.
    package static let jobsPerShareMax = 64
    /// How long a read waits for Jobs while nothing has a timer.
    package static let readBlockMax = Duration.seconds(1)
    /// The same with calls, rooms, or conversations that time changes: also how late a timer fires.
    package static let timedReadBlockMax = Duration.milliseconds(500)
    /// Between two checks who owns which share.
    package static let leaseInterval = Duration.seconds(1)
    /// The same, and how long a read waits, where nothing has happened for `idleAfter`, and nobody calls, whispers or is in a room.
    package static let idleInterval = Duration.seconds(2)
    package static let idleAfter = Duration.seconds(10)
    /// A process whose database session has said nothing for this long is taken for frozen, and its session ended.
    package static let frozenAfter = Duration.seconds(5)
    /// After a failure of bus or store, before trying again.
    package static let retryPause = Duration.milliseconds(200)
    /// Transactions tried for one batch while others get in its way.
    package static let attemptsMax = 5
    /// Reads of one Job at a time after the database has refused a batch.
    package static let poisonIsolationReads = 1_024
    /// Conversations or rooms that a new owner reads in one statement.
    package static let loadedAtOnce = 100
    /// Between two sweeps of what was kept long enough.
    package static let sweepInterval = Duration.seconds(60)
    /// Conversations or rooms that one sweep ends.
    package static let expiredAtOnce = 100
    /// A gateway that has reported and does so no more is taken for gone after this. Gateways report every 5 s.
    package static let reportsMissedFor = Duration.seconds(15)
    /// A connection that its gateway's report omits is there all the same if it came within this time: the report may be older.
    package static let reportsDoubtedFor = Duration.seconds(15)
    package static func isNew(_ came: Timestamp?, at now: Timestamp) -> Bool {
        came.map { $0 + Self.reportsDoubtedFor > now } ?? false
    }
}
