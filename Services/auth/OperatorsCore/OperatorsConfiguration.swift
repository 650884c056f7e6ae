import Contract

/// Bounds of reports and of the database that are settings (contract §13a).
package struct OperatorsConfiguration: Sendable {
    /// Open reports of one reporter.
    package var openReportsMax = Limits.openReportsMax
    /// Time that evidence stays after the review.
    package var evidenceLife = OperatorsLimits.evidenceLife
    /// Time that a report stays after its review.
    package var reportLife = OperatorsLimits.reportLife
    /// Room for the database, in bytes. It is shown and measured against; nothing is refused because of it.
    package var databaseBytesMax = OperatorsLimits.databaseBytesMax

    package init() {}
}
