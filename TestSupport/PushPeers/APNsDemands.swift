package import Foundation
import ServerCrypto

/// Demands of Apple's documentation on a request ("Sending notification requests to APNs", "Establishing a token-based
/// connection to APNs", "Generating a remote notification").
package struct APNsDemands: Sendable {
    package static let keyID = "ABC123DEFG"
    package static let teamID = "DEF123GHIJ"
    package static let bundle = "org.whisper.app"

    private let key: P256PublicKey

    package init(_ identity: PeerIdentity) { self.key = p256(pem: identity.apnsPublic)! }

    /// - Returns: the refusal that a request deserves; nil if it is as it should be.
    package func refusal(_ request: PeerRequest, now: Date = Date()) -> PeerReply? {
        func refuse(_ status: Int, _ reason: String) -> PeerReply {
            .answer(status: status, headers: [("apns-id", UUID().uuidString)], body: #"{"reason":"\#(reason)"}"#)
        }
        let headers = request.headers
        guard request.method == "POST" else { return refuse(405, "MethodNotAllowed") }
        guard request.scheme == "https", request.path.hasPrefix("/3/device/") else { return refuse(404, "BadPath") }
        let token = request.path.dropFirst("/3/device/".count)
        guard !token.isEmpty, token.allSatisfy({ $0.isHexDigit }) else { return refuse(400, "BadDeviceToken") }

        let words = (headers["authorization"] ?? "").split(separator: " ")
        guard words.count == 2, words[0].lowercased() == "bearer" else { return refuse(403, "MissingProviderToken") }
        guard let jwt = PeerToken(String(words[1])), jwt.header["alg"] as? String == "ES256",
            jwt.header["kid"] as? String == Self.keyID, jwt.claims["iss"] as? String == Self.teamID,
            let issued = jwt.seconds("iat"), jwt.signature.count == 64,
            self.key.isValid(jwt.signature, over: jwt.signed)
        else { return refuse(403, "InvalidProviderToken") }
        let age = now.timeIntervalSince1970 - issued
        guard age < 3_600, age > -60 else { return refuse(403, "ExpiredProviderToken") }

        guard let type = headers["apns-push-type"], ["alert", "background", "voip"].contains(type) else {
            return refuse(400, "InvalidPushType")
        }
        guard headers["apns-topic"] == (type == "voip" ? Self.bundle + ".voip" : Self.bundle) else {
            return refuse(400, headers["apns-topic"] == nil ? "MissingTopic" : "BadTopic")
        }
        guard let priority = headers["apns-priority"], ["5", "10"].contains(priority),
            type != "background" || priority == "5"
        else { return refuse(400, "BadPriority") }
        guard let expiration = headers["apns-expiration"].flatMap({ Int64($0) }),
            expiration == 0 || expiration > Int64(now.timeIntervalSince1970)
        else { return refuse(400, "BadExpirationDate") }
        guard let collapse = headers["apns-collapse-id"], (1...64).contains(collapse.utf8.count) else {
            return refuse(400, "BadCollapseId")
        }

        guard !request.body.isEmpty else { return refuse(400, "PayloadEmpty") }
        guard request.body.count <= (type == "voip" ? 5_120 : 4_096) else { return refuse(413, "PayloadTooLarge") }
        guard let json = (try? JSONSerialization.jsonObject(with: Data(request.body))) as? [String: Any],
            let aps = json["aps"] as? [String: Any]
        else { return refuse(400, "BadPayload") }
        if type == "background" {
            guard aps["content-available"] as? Int == 1, aps["alert"] == nil, aps["sound"] == nil else {
                return refuse(400, "BadPayload")
            }
        }
        if type == "alert" {
            guard let alert = aps["alert"] as? [String: Any], alert["loc-key"] is String else {
                return refuse(400, "BadPayload")
            }
        }
        return nil
    }
}

extension PeerRequest {
    /// Fields that the app finds in the payload of APNs, FCM (`data`) or a decrypted Web Push message.
    package var wake: [String: String] {
        guard let json = (try? JSONSerialization.jsonObject(with: Data(self.body))) as? [String: Any] else {
            return [:]
        }
        let message = json["message"] as? [String: Any]
        let facts = json["w"] as? [String: Any] ?? message?["data"] as? [String: Any] ?? json
        return facts.compactMapValues { $0 as? String }
    }

    package var json: [String: Any] {
        ((try? JSONSerialization.jsonObject(with: Data(self.body))) as? [String: Any]) ?? [:]
    }
}
