import Contract

/// The bounds of this service. Those that clients can see are `Limits`.
package enum AuthLimits {
    /// Jobs that one process handles at a time. Most of their time is waiting for Postgres.
    package static let jobsInFlightMax = 64
    /// Connections of the pool. Fewer than Jobs: a Job holds one only while it is at the database.
    package static let connectionsMax = 8
    /// How long one read of the stream waits for a Job, and so how long a drain waits for that read.
    package static let takePatience = Duration.seconds(1)
    /// A Job taken this long ago and not acknowledged lost its process, or its answer. Longer than a Job takes.
    package static let claimIdle = Duration.seconds(15)
    /// Time between two looks for such Jobs.
    package static let claimEvery = Duration.seconds(5)
    /// Pause after the bus failed, before asking it again.
    package static let busPause = Duration.milliseconds(200)

    /// Longest life of a session in the cache; what Redis was not told in time ends with it.
    package static let cacheLifeMax = Duration.seconds(3_600)
    /// Readings of one session while it changes under the cache, before it is left out of the cache.
    package static let cacheFillsMax = 3

    /// Time between two sweeps of ended sessions, and sessions removed by one statement.
    package static let sweepEvery = Duration.seconds(60)
    package static let sweepBatch = 1_000

    /// How long evidence stays after its report was reviewed, and a report after its review (contract §13a).
    package static let evidenceLife = Duration.seconds(30 * 86_400)
    package static let reportLife = Duration.seconds(400 * 86_400)
    /// Time between two sweeps of reports, and batches (`sweepBatch`) of one sweep: what is left waits for the next.
    package static let reportSweepEvery = Duration.seconds(600)
    package static let reportSweepRounds = 100
    /// When somebody with too many open reports may try again: operators review some in an hour.
    package static let reportRetryAfter = Duration.seconds(3_600)

    /// Room that the database is taken to have, in bytes, if no operator says how much it is; and the share of it, in percent, from which
    /// the console asks for care. The alert has the same.
    package static let databaseBytesMax: Int64 = 50_000_000_000
    package static let databaseCarePercent: Int64 = 80
    /// Time between two looks at its size.
    package static let databaseLookEvery = Duration.seconds(60)

    /// Rejected push tokens cleared by one statement.
    package static let rejectedTokensMax = 256

    /// Time between two looks at bans: how late one ends.
    package static let banLookEvery = Duration.seconds(2)
    /// How long after a ban its consequences are repeated, in case they got lost.
    package static let banRepeatedFor = Duration.seconds(10)
    /// Body of an operator's request, in bytes.
    package static let adminBodyBytesMax = 16 * 1_024
    /// How long somebody stays signed in at the console: half a working day, whatever they do.
    package static let consoleSessionLife = Duration.seconds(4 * 3_600)
    /// Entries of one page of the console, and of the lists on its overview.
    package static let consolePageEntries = 50
    package static let consoleOverviewEntries = 6
    /// Time between two looks of an open overview.
    package static let consoleRefreshEvery = Duration.seconds(30)
    /// Recipients of one message that an operator is shown.
    package static let deliveriesShownMax = 1_000
    /// Identities whose presence is looked at to say how many are online, and how many of them in one question to the bus.
    package static let onlineSampleMax = 20_000
    package static let presencesPerReadMax = 1_000

    /// The body that carries a contact backup: its base64, and room for the other fields, in bytes.
    package static let backupBodyBytesMax = (Limits.backupBytesMax + 2) / 3 * 4 + 4_096
}
