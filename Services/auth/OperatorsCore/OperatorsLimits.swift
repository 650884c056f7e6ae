import Contract

/// The bounds of what operators see and do. `Limits` has the bounds that clients can see.
package enum OperatorsLimits {
    /// Time that evidence stays after its report was reviewed, and a report after its review (contract §13a).
    package static let evidenceLife = KeptRecord.evidence.usual!
    package static let reportLife = KeptRecord.reports.usual!
    /// Rows that one statement of a sweep removes: reports, ended bans.
    package static let sweepBatch = 1_000
    /// Time between two sweeps of reports, and batches (`sweepBatch`) of one sweep. The next sweep takes the rest.
    package static let recordSweepEvery = Duration.seconds(600)
    package static let recordSweepRounds = 100
    /// When a reporter with too many open reports should try again. Operators review some within an hour.
    package static let reportRetryAfter = Duration.seconds(3_600)

    /// Room for the database, in bytes, unless an operator sets it.
    package static let databaseBytesMax: Int64 = 50_000_000_000
    /// Share of that room, in percent, from which the console asks for care. The alert has the same.
    package static let databaseCarePercent: Int64 = 80
    /// Time between two measurements of the database's size.
    package static let databaseMeasureEvery = Duration.seconds(60)

    /// Time between two looks at alerts and at the certificate.
    package static let surroundingsLookEvery = Duration.seconds(30)
    /// Time to connect to one of them, and again to be answered.
    package static let surroundingsPatience = Duration.seconds(5)
    package static let surroundingsBytesMax = 1_048_576
    /// Alerts that the console names.
    package static let alertsShown = 20
    /// Time before the certificate's end from which the console asks for care. The alert has the same.
    package static let certificateCare = Duration.seconds(14 * 86_400)

    /// Time between two sweeps of bans: how late one ends.
    package static let banSweepEvery = Duration.seconds(2)
    /// Time after a ban during which its consequences are repeated, in case one got lost.
    package static let banRepeatedFor = Duration.seconds(10)

    /// Time between two Notices to all gateways of who has a class of rates (contract §20.7): how late a gateway learns what it missed.
    package static let rateClassesToldEvery = Duration.seconds(4)

    /// Body of an operator's request, in bytes.
    package static let adminBodyBytesMax = 16 * 1_024
    /// Life of a console session: half a working day, whether it is used or not.
    package static let consoleSessionLife = KeptRecord.consoleSessions.usual!
    /// Entries of one page of the console, and of each list on its overview.
    package static let consolePageEntries = 50
    package static let consoleOverviewEntries = 6
    /// Time after which a browser loads an open overview again.
    package static let consoleRefreshEvery = Duration.seconds(30)
    /// Recipients of one message that an operator is shown.
    package static let deliveriesShownMax = 1_000
    /// Identities whose presence is read to tell how many are online. Beyond it the number is projected.
    package static let onlineSampleMax = 20_000

    /// Erasures that operators may order within a day. A setting.
    package static let erasuresPerDay: Int64 = 100
    /// When an operator may try again that has ordered as many as may be.
    package static let erasureRetryAfter = Duration.seconds(600)
}
