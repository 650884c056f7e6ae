package import Contract
import ServerCrypto
import Telemetry

/// Google's rules for requests and answers ("FCM HTTP v1: projects.messages", "ErrorCode", "Using OAuth 2.0 for server
/// to server applications").
package struct FCMRules: Sendable {
    /// Longest time to live: four weeks.
    package static let secondsToLiveMax: Int64 = 2_419_200
    /// A quota that is used up comes back within a minute.
    package static let quotaPause = Duration.seconds(60)

    package var project: String

    package init(project: String) { self.project = project }

    package func request(_ push: Push, to token: String, accessToken: String, at now: Timestamp) -> HTTP2Request {
        // Values of data are text.
        var data = JSONWriter()
        data.add("wakeId", UUIDText(high: push.wakeID.high, low: push.wakeID.low))
        data.add("kind", push.kind.name)
        if case .call(let isVideo) = push.kind { data.add("video", isVideo ? "true" : "false") }
        data.add("tag", push.tag)
        var android = JSONWriter()
        // High priority that shows nothing is taken away from the app.
        android.add("priority", push.isUrgent ? "HIGH" : "NORMAL")
        android.add("ttl", "\(min(push.secondsLeft(at: now), Self.secondsToLiveMax))s")
        // FCM keeps four keys of a device that is away. Mail of one identity shares one; a call needs none: it does not wait long.
        if push.isLikeOthers { android.add("collapse_key", push.collapseKey) }
        var message = JSONWriter()
        message.add("token", token)
        message.add("data", json: data.finished())
        message.add("android", json: android.finished())
        var json = JSONWriter()
        json.add("message", json: message.finished())
        return HTTP2Request(
            path: "/v1/projects/\(self.project)/messages:send",
            headers: [("authorization", "Bearer \(accessToken)"), ("content-type", "application/json")],
            body: json.finished())
    }

    package static func answer(_ response: HTTP2Response, sentAt: Timestamp) -> PushAnswer {
        if response.status == 200 { return .sent }
        let body = JSONLeaves(response.body)
        let code = body?["error.details.errorCode"] ?? body?["error.status"] ?? ""
        switch response.status {
        case 404 where code == "UNREGISTERED": return .tokenGone(asOf: sentAt)
        // Only if it is the token that is wrong: otherwise the fault is ours.
        case 400
        where code == "INVALID_ARGUMENT"
            && (body?.all("error.details.fieldViolations.field").contains("message.token") ?? false):
            return .tokenGone(asOf: sentAt)
        case 401: return .staleCredentials
        case 403 where code == "PERMISSION_DENIED": return .later(.credentials, after: nil)
        case 429: return .later(.throttled, after: response.retryAfter ?? Self.quotaPause)
        case 500...599: return .later(.unavailable, after: response.retryAfter)
        // Among them SENDER_ID_MISMATCH: the app was built for another project.
        default: return .refused
        }
    }
}

/// A Google service account, as its JSON file says.
package struct ServiceAccount: Sendable {
    package let project: String
    private let email: String
    private let key: RSAPrivateKey
    /// Where access tokens are asked for.
    package let tokenURL: HTTPSAddress

    package static let scope = "https://www.googleapis.com/auth/firebase.messaging"
    /// Longest life of an assertion, and what is asked for.
    package static let assertionSeconds: Int64 = 3_600

    /// - Returns: nil if something is missing, or is not what it should be.
    package init?(file: [UInt8]) {
        guard let file = JSONLeaves(file), let project = file["project_id"], let email = file["client_email"],
            let key = file["private_key"].flatMap({ RSAPrivateKey(pem: $0) }),
            let address = HTTPSAddress(file["token_uri"] ?? "https://oauth2.googleapis.com/token"),
            project.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "/") }), !project.isEmpty
        else { return nil }
        self.project = project
        self.email = email
        self.key = key
        self.tokenURL = address
    }

    /// The question for an access token (RFC 7523 §2.1).
    package func tokenRequest(at now: Timestamp) -> HTTP2Request? {
        var header = JSONWriter()
        header.add("alg", "RS256")
        header.add("typ", "JWT")
        var claims = JSONWriter()
        claims.add("iss", self.email)
        claims.add("scope", Self.scope)
        claims.add("aud", self.tokenURL.text)
        claims.add("iat", now.milliseconds / 1_000)
        claims.add("exp", now.milliseconds / 1_000 + Self.assertionSeconds)
        guard let token = WebToken.make(header: header.finished(), claims: claims.finished(), sign: self.key.sign)
        else {
            return nil
        }
        let body = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=\(token)"
        return HTTP2Request(
            path: self.tokenURL.path, headers: [("content-type", "application/x-www-form-urlencoded")],
            body: Array(body.utf8))
    }
}

/// An access token, and until when it is used: some minutes less than it lives.
package struct AccessToken: Equatable, Sendable {
    package static let spare = Duration.seconds(300)

    package let text: String
    package let usedUntil: Timestamp

    /// - Returns: nil if the answer holds none.
    package init?(_ response: HTTP2Response, at now: Timestamp) {
        guard response.status == 200, let body = JSONLeaves(response.body), let text = body["access_token"],
            !text.isEmpty,
            text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), let seconds = body["expires_in"].flatMap({ Int64($0) }),
            (1...86_400).contains(seconds)
        else { return nil }
        self.text = text
        self.usedUntil = now + max(.seconds(seconds) - Self.spare, .seconds(seconds) / 2)
    }
}
