import Contract
package import HTTPAccess

/// What auth's own operations refuse.
extension HTTPRefusal {
    package static let notAnID = HTTPRefusal(.invalidPayload, "not a Whisper ID (WSP-XXXX-XXXX-XXXX)")
    package static let noBackup = HTTPRefusal(.notFound, "there is no backup")
    package static let lostRace = HTTPRefusal(
        .invalidPayload, status: .preconditionFailed, "the backup is not the one named by If-Match")
    package static let backupTooLarge = HTTPRefusal(
        .invalidPayload, status: .contentTooLarge, "the backup is too large")

    package static let backupTooLargeForStranger = HTTPRefusal(
        .invalidPayload, status: .contentTooLarge,
        "the backup is too large for an identity that nobody has exchanged messages with")

    package init?(_ callerStatus: CallerStatus) {
        switch callerStatus {
        case .live: return nil
        case .banned: self = .banned
        case .stale: self = .notRegistered
        }
    }
}
