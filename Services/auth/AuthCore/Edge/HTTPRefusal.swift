import Contract
package import HTTPAccess
import Store

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

    package static let notAProfileID = HTTPRefusal(.invalidPayload, "not a profile's id (a UUID in lower case)")
    package static let notADocumentName = HTTPRefusal(.invalidPayload, "not the name of a profile's document")
    package static let noProfile = HTTPRefusal(.notFound, "there is no such profile")
    package static let noDocument = HTTPRefusal(.notFound, "there is no such document")
    package static let noCondition = HTTPRefusal(
        .invalidPayload, "a document is written with If-Match and its version, or with If-None-Match: *")
    package static let lostDocumentRace = HTTPRefusal(
        .invalidPayload, status: .preconditionFailed, "the document is not the one that the request names")
    package static let documentTooLarge = HTTPRefusal(
        .invalidPayload, status: .contentTooLarge, "the document is too large")

    package static let profileTooLarge = HTTPRefusal(
        .invalidPayload, status: .contentTooLarge,
        "the profile's documents together would be too large; without a member that has exchanged messages they may hold less"
    )
    package static let noRoomForStrangers = HTTPRefusal(
        .rateLimited, "nothing more is kept now for identities that nobody has exchanged messages with",
        retryAfter: StrangerLimits.retryAfter.components.seconds)

    init(_ refusal: HeldProfile.Refusal) {
        switch refusal {
        case .taken: self.init(.forbidden, "the profile belongs to others")
        case .wrongKey: self.init(.forbidden, "the key opens no such profile")
        case .profileIsFull: self.init(.forbidden, "the profile has as many members as it may")
        case .tooManyProfiles: self.init(.forbidden, "the caller is in as many profiles as it may be")
        }
    }

    package init?(_ callerStatus: CallerStatus) {
        switch callerStatus {
        case .live: return nil
        case .banned: self = .banned
        case .stale: self = .notRegistered
        }
    }
}
