package import Contract

/// The frames that this service answers with.
package enum Replies {
    package static func registerChallenge(_ challenge: LoginChallenge, id: UUIDText) -> Answer {
        var json = JSONWriter()
        json.add("challengeId", id)
        json.add("challenge", base64: challenge.bytes.bytes)
        json.add("expiresAt", challenge.expiresAt)
        return .reply(type: "register_challenge", payload: json.finished())
    }

    package static func registerAck(_ session: Session, token: SessionToken, at now: Timestamp) -> Answer {
        var json = JSONWriter(capacity: 192)
        json.add("success", true)
        json.add("whisperId", session.caller.identity)
        json.add("sessionToken", token.text)
        json.add("sessionExpiresAt", session.expiresAt)
        json.add("serverTime", now)
        return .loggedIn(session, type: "register_ack", payload: json.finished())
    }

    package static func sessionRefreshAck(_ session: Session, token: SessionToken, at now: Timestamp) -> Answer {
        var json = JSONWriter()
        json.add("sessionToken", token.text)
        json.add("sessionExpiresAt", session.expiresAt)
        json.add("serverTime", now)
        return .refreshed(session, type: "session_refresh_ack", payload: json.finished())
    }

    package static let logoutAck = Answer.loggedOut(type: "logout_ack", payload: success)
    package static let tokensUpdated = Answer.reply(type: "tokens_updated", payload: success)

    package static let authFailed = Answer.refused(Refusal(.authFailed, "the login was not accepted"))
    package static let banned = Answer.refused(Refusal(.userBanned, "this identity is banned"))
    package static let unknownIdentity = Answer.refused(Refusal(.notFound, "there is no such identity"))
    package static let notRegistered = Answer.refused(Refusal(.notRegistered, "the session is not known"))
    package static let internalError = Answer.refused(
        Refusal(.internalError, "something went wrong on our side; safe to retry"))

    private static var success: [UInt8] {
        var json = JSONWriter(capacity: 16)
        json.add("success", true)
        return json.finished()
    }
}
