/// The error codes a client can see (spec §3.1, frozen).
package enum ErrorCode: String, CaseIterable, Sendable {
    case notRegistered = "NOT_REGISTERED"
    case authFailed = "AUTH_FAILED"
    case invalidPayload = "INVALID_PAYLOAD"
    case invalidTimestamp = "INVALID_TIMESTAMP"
    case rateLimited = "RATE_LIMITED"
    case userBanned = "USER_BANNED"
    case notFound = "NOT_FOUND"
    case forbidden = "FORBIDDEN"
    /// Not accepted, safe to retry with the same id.
    case internalError = "INTERNAL_ERROR"

    /// The HTTP status that carries this code (contract §1).
    package var httpStatus: Int {
        switch self {
        case .invalidPayload, .invalidTimestamp: 400
        case .notRegistered, .authFailed: 401
        case .userBanned, .forbidden: 403
        case .notFound: 404
        case .rateLimited: 429
        case .internalError: 500
        }
    }
}

/// Why a code was answered, where one code has several causes that a client treats differently (contract §20.1).
/// Services number reasons by their place here, so a new one goes to the end.
package enum RefusalReason: String, CaseIterable, Sendable {
    /// Nobody new may register now.
    case registrationClosed
    /// Somebody new needs an invitation.
    case invitationNeeded
    /// The invitation is unknown, expired, revoked or used up: one answer for all four.
    case invitationInvalid
    /// The keys were an identity's that has been erased: nobody takes them again (contract §20.2).
    case erased
    /// An operator's confirmation names another person than the request (contract §20.5).
    case confirmationMismatch
}

/// Whether somebody new may register (contract §20.6). Identities that exist log in whatever it is.
package enum RegistrationMode: String, CaseIterable, Sendable {
    case open, invited, closed
}

/// Why the server closes a WebSocket (contract §3, §13).
package enum CloseCode: UInt16, CaseIterable, Sendable {
    case normal = 1000
    /// The server is draining; the reason is the delay in milliseconds before reconnecting.
    case goingAway = 1001
    case protocolError = 1002
    /// A binary message.
    case unsupportedData = 1003
    /// A text message that is not UTF-8.
    case invalidText = 1007
    /// Too many invalid frames.
    case abuse = 1008
    case tooBig = 1009
    case sessionReplaced = 4001
    case banned = 4003
    case idle = 4008
    case slowConsumer = 4010
    case tooManyConnections = 4029
}
