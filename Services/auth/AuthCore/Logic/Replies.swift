package import ClusterContract
package import Contract

/// The frames that this service answers with.
package enum Replies {
    /// - Parameter registration: whether somebody new may register.
    package static func registerChallenge(
        _ challenge: LoginChallenge, id: UUIDText, registration: RegistrationMode
    ) -> Answer {
        .reply(
            RegisterChallenge(
                challengeID: id, challenge: challenge.bytes.bytes, expiresAt: challenge.expiresAt,
                registration: registration))
    }

    package static func registerAck(
        _ session: Session, token: SessionToken, at now: Timestamp, _ classes: RateClasses = .usual
    ) -> Answer {
        let grant = Self.grant(session, token, at: now, classes)
        return .loggedIn(session, RegisterAck(whisperID: session.caller.identity, session: grant))
    }

    package static func sessionRefreshAck(
        _ session: Session, token: SessionToken, at now: Timestamp, _ classes: RateClasses = .usual
    ) -> Answer {
        .refreshed(session, SessionRefreshAck(session: Self.grant(session, token, at: now, classes)))
    }

    private static func grant(
        _ session: Session, _ token: SessionToken, at now: Timestamp, _ classes: RateClasses
    ) -> SessionGrant {
        SessionGrant(
            token: token.text, expiresAt: session.expiresAt, serverTime: now,
            rateClass: classes.known(session.rateClass))
    }

    package static func guestChallenge(_ challenge: ProofChallenge, id: UUIDText) -> Answer {
        .reply(GuestChallenge(challengeID: id, challenge: challenge.bytes.bytes, expiresAt: challenge.expiresAt))
    }

    package static func guestAck(_ guest: Guest, token: SessionToken, at now: Timestamp) -> Answer {
        .guestProved(
            guest, GuestAck(guestID: guest.id, token: token.text, expiresAt: guest.expiresAt, serverTime: now))
    }

    package static let guestRefused = Answer.refused(Refusal(.authFailed, "the proof was not accepted"))
    package static let noRoomForGuests = Answer.refused(
        Refusal(
            .rateLimited, "there is no room for this guest now",
            retryAfterMilliseconds: AuthLimits.guestRetryAfter.milliseconds))
    package static let bannedGuest = Answer.refused(Refusal(.userBanned, "this guest is banned"))

    package static let logoutAck = Answer.loggedOut(LogoutAck())
    package static let tokensUpdated = Answer.reply(TokensUpdated())

    package static let authFailed = Answer.refused(Refusal(.authFailed, "the login was not accepted"))
    /// - Parameter milliseconds: that are left of the ban, if it ends.
    package static func banned(for milliseconds: Int64?) -> Answer {
        .refused(
            Refusal(
                .userBanned, "this identity is banned", retryAfterMilliseconds: milliseconds.map { max($0, 0) }))
    }
    package static let malformedInvitation = Answer.refused(
        Refusal(.invalidPayload, "invitation: must be 16 bytes in base64url"))

    package static func notLetIn(_ reason: RefusalReason) -> Answer {
        let (code, message): (ErrorCode, String) =
            switch reason {
            case .registrationClosed: (.forbidden, "nobody new can register on this server")
            case .invitationNeeded: (.forbidden, "this server asks for an invitation")
            case .invitationInvalid: (.forbidden, "the invitation does not hold")
            case .erased, .confirmationMismatch: (.authFailed, "the identity of these keys has been erased")
            }
        return .refused(Refusal(code, reason, message))
    }

    package static let foreignErasure = Answer.refused(Refusal(.forbidden, "whisperId: is not this session's"))
    package static let erasureRefused = Answer.refused(
        Refusal(.authFailed, "the erasure was not accepted; begin again"))

    package static let unknownIdentity = Answer.refused(Refusal(.notFound, "there is no such identity"))
    package static let notRegistered = Answer.refused(Refusal(.notRegistered, "the session is not known"))
    package static let internalError = Answer.refused(
        Refusal(.internalError, "something went wrong on our side; safe to retry"))
}
