package import Foundation
package import ServerCrypto

/// A subscriber of Web Push, and what RFC 8030, RFC 8188, RFC 8291 and RFC 8292 demand of a request to it.
package struct WebPushDemands: Sendable {
    private let key: P256PrivateKey
    private let secret: [UInt8]
    private let vapid: P256PublicKey

    package init(_ identity: PeerIdentity) {
        self.init(
            key: P256PrivateKey(), secret: (0..<16).map { _ in UInt8.random(in: 0...255) },
            vapid: p256(pem: identity.vapidPublic)!)
    }

    package init(key: P256PrivateKey, secret: [UInt8], vapid: P256PublicKey) {
        self.key = key
        self.secret = secret
        self.vapid = vapid
    }

    /// The push token that a device with this subscription shows.
    package func token(endpoint: String) -> String {
        "webpush:\(endpoint)#\(base64URL(self.key.publicKey.bytes)).\(base64URL(self.secret))"
    }

    /// - Parameter origin: this peer's own.
    package func refusal(_ request: PeerRequest, origin: String, now: Date = Date()) -> PeerReply? {
        let headers = request.headers
        guard request.method == "POST", let ttl = headers["ttl"].flatMap({ Int($0) }), ttl >= 0 else {
            return .answer(status: 400)
        }
        if let urgency = headers["urgency"], !["very-low", "low", "normal", "high"].contains(urgency) {
            return .answer(status: 400)
        }
        if let topic = headers["topic"] {
            guard (1...32).contains(topic.count),
                topic.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") })
            else { return .answer(status: 400) }
        }
        // RFC 8292 §2, §3.
        guard let authorization = headers["authorization"], authorization.hasPrefix("vapid ") else {
            return .answer(status: 401)
        }
        var parameters: [String: String] = [:]
        for part in authorization.dropFirst("vapid ".count).split(separator: ",") {
            let pair = part.trimmingCharacters(in: .whitespaces).split(separator: "=", maxSplits: 1).map(String.init)
            if pair.count == 2 { parameters[pair[0]] = pair[1] }
        }
        guard let jwt = parameters["t"].flatMap({ PeerToken($0) }), jwt.header["alg"] as? String == "ES256",
            jwt.header["typ"] as? String == "JWT", parameters["k"].flatMap(bytesOfBase64URL) == self.vapid.bytes,
            self.vapid.isValid(jwt.signature, over: jwt.signed), jwt.claims["aud"] as? String == origin,
            let exp = jwt.seconds("exp"), exp > now.timeIntervalSince1970, exp <= now.timeIntervalSince1970 + 86_400,
            let contact = jwt.claims["sub"] as? String, contact.hasPrefix("mailto:")
        else { return .answer(status: 403) }
        guard headers["content-encoding"] == "aes128gcm" else { return .answer(status: 415) }
        // A push service must take 4096 bytes, and may refuse more (RFC 8030 §7.2).
        guard request.body.count <= 4_096 else { return .answer(status: 413) }
        return nil
    }

    /// The message as the app reads it; nil if it was not encrypted for this subscriber.
    package func open(_ body: [UInt8]) -> [UInt8]? {
        guard body.count > 21 else { return nil }
        let (salt, length) = (Array(body[..<16]), Int(body[20]))
        guard body.count > 21 + length, let sender = P256PublicKey(bytes: Array(body[21..<21 + length])),
            let shared = self.key.shared(with: sender)
        else { return nil }
        let info = Array("WebPush: info".utf8) + [0] + self.key.publicKey.bytes + sender.bytes
        let material = HKDF.expand(HKDF.extract(salt: self.secret, shared), info: info, count: 32)
        let root = HKDF.extract(salt: salt, material)
        let key = HKDF.expand(root, info: Array("Content-Encoding: aes128gcm".utf8) + [0], count: 16)
        let nonce = HKDF.expand(root, info: Array("Content-Encoding: nonce".utf8) + [0], count: 12)
        guard let padded = AES128GCM.open(Array(body[(21 + length)...]), key: key, nonce: nonce),
            let end = padded.lastIndex(where: { $0 != 0 }), padded[end] == 2
        else { return nil }
        return Array(padded[..<end])
    }
}
