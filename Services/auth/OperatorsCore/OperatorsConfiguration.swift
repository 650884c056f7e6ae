package import ClusterContract
package import Contract

/// Bounds of reports and of the database that are settings (contract §13a, §13b).
package struct OperatorsConfiguration: Sendable {
    /// Open reports of one reporter.
    package var openReportsMax = Limits.openReportsMax
    /// Evidence about a message that the ledger does not know, and of one reporter's open reports, in bytes.
    package var unknownEvidenceBytesMax = Limits.unknownEvidenceBytesMax
    package var openEvidenceBytesMax = Limits.openEvidenceBytesMax
    /// Bytes that the reports of all reporters without a peer may keep together.
    package var strangersBytesMax = Limits.strangersStoreBytesMax
    /// Time that evidence stays after the review.
    package var evidenceLife = OperatorsLimits.evidenceLife
    /// Time that a report stays after its review.
    package var reportLife = OperatorsLimits.reportLife
    /// Time that an audit event stays.
    package var auditLife = KeptRecord.audit.usual!
    /// Times in force, for operators to see.
    package var kept = KeptRecords()
    /// Room for the database, in bytes. It is shown and measured against; nothing is refused because of it.
    package var databaseBytesMax = OperatorsLimits.databaseBytesMax
    /// Whether somebody new may register, while no operator has chosen.
    package var registration = RegistrationMode.open
    /// Classes of rates that operators may give.
    package var rateClasses = RateClasses.usual

    /// Erasures that operators may order within a day, all together.
    package var erasuresPerDay = OperatorsLimits.erasuresPerDay

    /// Prometheus, for alerts that fire, and whoever shows clients the certificate.
    package var prometheus: Surroundings.Address?
    package var certificate: Surroundings.Address?

    package init() {}
}
