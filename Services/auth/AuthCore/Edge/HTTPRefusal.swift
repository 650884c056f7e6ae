import Contract
package import HTTPAccess

/// What auth's own operations refuse.
extension HTTPRefusal {
    package static let notAnID = HTTPRefusal(.invalidPayload, "not a Whisper ID (WSP-XXXX-XXXX-XXXX)")
    package static let unknownIdentity = HTTPRefusal(.notFound, "there is no such identity")
    package static let noBackup = HTTPRefusal(.notFound, "there is no backup")
    package static let lostRace = HTTPRefusal(
        .invalidPayload, status: .preconditionFailed, "the backup is not the one named by If-Match")
    package static let backupTooLarge = HTTPRefusal(
        .invalidPayload, status: .contentTooLarge, "the backup is too large")

    package static let backupTooLargeForStranger = HTTPRefusal(
        .invalidPayload, status: .contentTooLarge,
        "the backup is too large for an identity that nobody has exchanged messages with")

    // The ops listener's.

    package static let unknownReport = HTTPRefusal(.notFound, "there is no such report")
    package static let unknownMessage = HTTPRefusal(.notFound, "nobody sent such a message lately")

    package static func badParameter(_ name: StaticString) -> HTTPRefusal {
        HTTPRefusal(.invalidPayload, "\(name): not a value that it may have")
    }

    package init?(_ standing: CallerStanding) {
        switch standing {
        case .live: return nil
        case .banned: self = .banned
        case .stale: self = .notRegistered
        }
    }
}
