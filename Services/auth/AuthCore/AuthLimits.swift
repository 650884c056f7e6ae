import Contract

/// The bounds of this service. Those that clients can see are `Limits`.
package enum AuthLimits {
    /// Jobs that one process handles at a time. Most of their time is waiting for Postgres.
    package static let jobsInFlightMax = 64
    /// Exports for people that one process reads at a time. A document may have many megabytes, and logins use the same connections.
    package static let exportsAtOnceMax = 2
    /// Identities of one device that share a push token.
    package static let identitiesOfTokenMax = 8
    /// Connections of the pool. Fewer than Jobs: a Job holds one only while it is at the database.
    package static let connectionsMax = 8
    /// Transactions that store new identities at a time, and the most that one of them stores.
    package static let firstLoginTransactionsMax = 1
    package static let firstLoginsMax = 32
    /// How long one read of the stream waits for a Job, and so how long a drain waits for that read.
    package static let takeBlockMax = Duration.seconds(2)
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
    /// How exactly a profile's last use is known. Less would be a write for each reading.
    package static let profileTouchEvery = Duration.seconds(86_400)
    /// Bytes that one guest takes: its row and its entries in three indexes.
    package static let guestBytes: Int64 = 512
    /// Share of the guests' bound, in percent, from which guests that came once and whose token has ended go early.
    package static let guestCarePercent: Int64 = 90
    /// When a new guest may try again that there was no room for: a sweep makes some.
    package static let guestRetryAfter = Duration.seconds(60)

    /// How long an invitation stays listed after its end.
    package static let endedInvitationLife = KeptRecord.endedInvitations.usual!
    /// The ledger's walk comes a day after a decision; rows of mail that waits go with a walk behind the end of that mail.
    package static let ledgerWalkedWithin = Limits.pendingTTL + .seconds(48 * 3_600)
    /// How long a finished erasure stays listed. It names nobody.
    package static let finishedErasureLife = KeptRecord.erasures.usual!
    /// Inactive identities that the cluster erases within an hour, and one process in one sweep.
    package static let inactiveErasedPerHour: Int64 = 1_000
    package static let inactiveErasedPerSweep = 20
    /// Days for which an inactive identity is counted, and `RetentionDue` fires, before it is erased.
    package static let inactivityNoticeDays: Int64 = 1
    /// The notice begins anew if nobody has counted for so long.
    package static let inactivityBreakMax = Duration.seconds(3_600)
    /// Marks of erased identities, and identities, that one statement reads or adds (`ErasureMarks`, `Reapplication`).
    package static let marksPortion = 1_000
    /// How old the mode may be that a challenge names. The mode at the proof decides.
    package static let registrationModeAge = Duration.seconds(1)

    /// Rejected push tokens cleared by one statement.
    package static let rejectedTokensMax = 256

    /// The body that carries a contact backup: its base64, and room for the other fields, in bytes.
    package static let backupBodyBytesMax = (Limits.backupBytesMax + 2) / 3 * 4 + 4_096
    /// The same of a profile's document.
    package static let profileDocumentBodyBytesMax = (Limits.profileDocumentBytesMax + 2) / 3 * 4 + 4_096
    /// The body that carries a profile's hash or key, and room for fields that are ignored, in bytes.
    package static let profileBodyBytesMax = 4_096
    /// The same of an invitation's.
    package static let invitationBodyBytesMax = 4_096
}
