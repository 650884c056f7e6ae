import Contract
package import HTTPAccess
import Store

/// Refusals of auth's own operations.
extension HTTPRefusal {
    package static let notAnID = HTTPRefusal(.invalidPayload, "not a Whisper ID (WSP-XXXX-XXXX-XXXX)")
    package static let noBackup = HTTPRefusal(.notFound, "there is no backup")
    package static let lostRace = HTTPRefusal(
        .invalidPayload, status: .preconditionFailed, "the stored backup does not match If-Match")
    package static let backupTooLarge = HTTPRefusal(
        .invalidPayload, status: .contentTooLarge, "the backup is too large")

    package static let backupTooLargeForStranger = HTTPRefusal(
        .invalidPayload, status: .contentTooLarge,
        "the backup is too large for an identity without peers")

    package static let notAProfileID = HTTPRefusal(.invalidPayload, "not a profile id (a UUID in lower case)")
    package static let notADocumentName = HTTPRefusal(.invalidPayload, "not a document name")
    package static let noProfile = HTTPRefusal(.notFound, "there is no such profile")
    package static let noDocument = HTTPRefusal(.notFound, "there is no such document")
    package static let noCondition = HTTPRefusal(
        .invalidPayload, "writing a document requires If-Match with its version, or If-None-Match: *")
    package static let lostDocumentRace = HTTPRefusal(
        .invalidPayload, status: .preconditionFailed, "the stored document does not match If-Match or If-None-Match")
    package static let documentTooLarge = HTTPRefusal(
        .invalidPayload, status: .contentTooLarge, "the document is too large")

    package static let profileTooLarge = HTTPRefusal(
        .invalidPayload, status: .contentTooLarge,
        "the profile's documents would be too large together; the limit is lower while no member has peers")
    package static let noRoomForStrangers = HTTPRefusal(
        .rateLimited, "too much is stored for identities without peers; try again later",
        retryAfter: StrangerLimits.retryAfter.components.seconds)

    package static let nobodyInvites = HTTPRefusal(.forbidden, "people make no invitations here: ask the operators")
    package static let noRoomForInvitations = HTTPRefusal(
        .forbidden, "as many invitations are open as may be: try again when some have ended")
    package static let notAnInvitation = HTTPRefusal.invalid(
        PayloadViolation("token", "must be 16 bytes in base64url"))

    init(_ refusal: HeldProfile.Refusal) {
        switch refusal {
        case .taken: self.init(.forbidden, "the profile belongs to other identities")
        case .wrongKey: self.init(.forbidden, "the join key is wrong, or there is no such profile")
        case .profileIsFull: self.init(.forbidden, "the profile is full")
        case .tooManyProfiles: self.init(.forbidden, "the caller is a member of too many profiles")
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
