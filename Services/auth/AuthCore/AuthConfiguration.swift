package import Contract

/// Bounds that an operator may move (contract §13a).
package struct AuthConfiguration: Sendable {
    /// Open reports of one reporter.
    package var openReportsMax = Limits.openReportsMax
    /// How long evidence stays after the review.
    package var evidenceLife = AuthLimits.evidenceLife
    /// How long a report stays after its review.
    package var reportLife = AuthLimits.reportLife
    /// Ciphertext of the backup of an identity without any peer, in bytes.
    package var strangerBackupBytesMax = Limits.strangerBackupBytesMax

    package init() {}
}
