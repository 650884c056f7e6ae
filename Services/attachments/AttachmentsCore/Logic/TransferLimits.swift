/// Limits of the store on disk for uploads and downloads.
package struct TransferLimits: Equatable, Sendable {
    /// At once, of one process.
    package var transfersMax = AttachmentsLimits.transfersMax
    package var uploadsOfOneIdentityMax = AttachmentsLimits.uploadsOfOneIdentityMax
    package var downloadsOfOneIdentityMax = AttachmentsLimits.downloadsOfOneIdentityMax
    package var stallSecondsMax = AttachmentsLimits.stallSecondsMax
    package var paceGraceSeconds = AttachmentsLimits.paceGraceSeconds
    package var bytesPerSecondMin = AttachmentsLimits.bytesPerSecondMin
    package var crowdedBytesPerSecondMin = AttachmentsLimits.crowdedBytesPerSecondMin

    package init() {}

    package var oneDirectionMax: Int { max(1, self.transfersMax * AttachmentsLimits.quartersOfOneDirection / 4) }
    package var downloadsOfOneFileMax: Int { max(1, self.transfersMax * AttachmentsLimits.quartersOfOneFile / 4) }
}
