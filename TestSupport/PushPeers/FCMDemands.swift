package import Foundation
import ServerCrypto
import Synchronization

/// Demands of Google's documentation: on the request for an access token ("Using OAuth 2.0 for server to server
/// applications") and on a message ("projects.messages.send").
package final class FCMDemands: Sendable {
    private let key: RSAPublicKey
    private struct Issued {
        var number = 0
        var valid: Set<String> = []
    }
    private let issued = Mutex(Issued())

    package init(_ identity: PeerIdentity) { self.key = RSAPublicKey(pem: identity.accountPublic)! }

    package static let tokenPath = "/token"
    /// Access tokens given out so far.
    package var tokensIssued: Int { self.issued.withLock { $0.number } }

    /// All access tokens given out so far are worth nothing any more.
    package func revokeAll() { self.issued.withLock { $0.valid = [] } }

    /// - Parameter audience: this peer's own token address.
    package func token(_ request: PeerRequest, audience: String, seconds: Int = 3_600, now: Date = Date()) -> PeerReply
    {
        func refuse(_ why: String) -> PeerReply {
            .answer(status: 400, body: #"{"error":"invalid_grant","error_description":"\#(why)"}"#)
        }
        guard request.method == "POST", request.headers["content-type"] == "application/x-www-form-urlencoded" else {
            return refuse("form")
        }
        var form: [String: String] = [:]
        for pair in String(decoding: request.body, as: UTF8.self).split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1).map { String($0).removingPercentEncoding ?? "" }
            if parts.count == 2 { form[parts[0]] = parts[1] }
        }
        guard form["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer" else { return refuse("grant_type") }
        guard let jwt = form["assertion"].flatMap({ PeerToken($0) }), jwt.header["alg"] as? String == "RS256",
            self.key.isValid(jwt.signature, over: jwt.signed)
        else { return refuse("signature") }
        guard jwt.claims["iss"] as? String == PeerIdentity.email, jwt.claims["aud"] as? String == audience,
            jwt.claims["scope"] as? String == "https://www.googleapis.com/auth/firebase.messaging"
        else { return refuse("claims") }
        guard let iat = jwt.seconds("iat"), let exp = jwt.seconds("exp"), exp - iat <= 3_600,
            exp > now.timeIntervalSince1970,
            abs(now.timeIntervalSince1970 - iat) < 60
        else { return refuse("times") }
        let token = self.issued.withLock {
            $0.number += 1
            $0.valid.insert("ya29.token-\($0.number)")
            return "ya29.token-\($0.number)"
        }
        return .answer(
            status: 200, headers: [("content-type", "application/json")],
            body: #"{"access_token":"\#(token)","expires_in":\#(seconds),"token_type":"Bearer"}"#)
    }

    /// - Returns: the refusal that a message deserves; nil if it is as it should be.
    package func refusal(_ request: PeerRequest) -> PeerReply? {
        let bearer = request.headers["authorization"]?.split(separator: " ") ?? []
        guard bearer.count == 2, bearer[0] == "Bearer", self.issued.withLock({ $0.valid.contains(String(bearer[1])) })
        else {
            return Self.error(401, "UNAUTHENTICATED", "THIRD_PARTY_AUTH_ERROR")
        }
        let bad = Self.error(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT")
        guard request.method == "POST", request.path == "/v1/projects/\(PeerIdentity.project)/messages:send",
            request.headers["content-type"] == "application/json", request.body.count <= 4_096,
            let message = request.json["message"] as? [String: Any], let token = message["token"] as? String,
            !token.isEmpty,
            let data = message["data"] as? [String: Any], data.values.allSatisfy({ $0 is String }),
            message["notification"] == nil, let android = message["android"] as? [String: Any],
            let priority = android["priority"] as? String, ["HIGH", "NORMAL"].contains(priority),
            let ttl = android["ttl"] as? String, ttl.hasSuffix("s"), let seconds = Int(ttl.dropLast()),
            (0...2_419_200).contains(seconds)
        else { return bad }
        return nil
    }

    /// An error as FCM words it.
    package static func error(_ status: Int, _ state: String, _ code: String, field: String? = nil) -> PeerReply {
        let violation =
            field.map {
                #",{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"\#($0)","description":"x"}]}"#
            } ?? ""
        let detail = #"{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"\#(code)"}"#
        return .answer(
            status: status,
            body:
                #"{"error":{"code":\#(status),"message":"x","status":"\#(state)","details":[\#(detail)\#(violation)]}}"#
        )
    }
}
