package import Contract
package import ServerCrypto
import Telemetry

/// Where a Web Push subscription is sent to, and for whom it is encrypted. Shown by a device as its push token:
/// `webpush:` endpoint `#` p256dh `.` auth, both keys in base64url without padding, at most 512 characters in all
/// (so the endpoint has up to 393). UnifiedPush distributors give out exactly these three.
package struct WebPushSubscription: Equatable, Sendable {
    package static let prefix = "webpush:"
    /// Bytes of the authentication secret (RFC 8291 §3.2).
    package static let secretBytes = 16

    package let endpoint: HTTPSAddress
    package let key: P256PublicKey
    package let secret: [UInt8]

    package init(endpoint: HTTPSAddress, key: P256PublicKey, secret: [UInt8]) {
        self.endpoint = endpoint
        self.key = key
        self.secret = secret
    }

    /// - Returns: nil if the text is not in that form.
    package init?(_ token: String) {
        guard token.hasPrefix(Self.prefix), let mark = token.lastIndex(of: "#") else { return nil }
        let keys = token[token.index(after: mark)...].split(separator: ".", omittingEmptySubsequences: false)
        guard keys.count == 2,
            let endpoint = HTTPSAddress(token[..<mark].dropFirst(Self.prefix.count)),
            let key = Base64URL.decode(keys[0]).flatMap({ P256PublicKey(bytes: $0) }),
            let secret = Base64URL.decode(keys[1]), secret.count == Self.secretBytes
        else { return nil }
        self.init(endpoint: endpoint, key: key, secret: secret)
    }

    package var text: String {
        "\(Self.prefix)\(self.endpoint.text)#\(Base64URL.encode(self.key.bytes)).\(Base64URL.encode(self.secret))"
    }
}

/// Encryption of a push message for its subscriber (RFC 8291), in one record of aes128gcm (RFC 8188).
package enum WebPushEncryption {
    /// The one record's size, its padding mark and tag included.
    package static let recordBytes: UInt32 = 4_096
    private static let saltBytes = 16

    /// - Parameters:
    ///   - salt: 16 random bytes.
    ///   - sender: a key used for this message only.
    /// - Returns: the body of the request; nil if the message is too long, or the keys do not fit.
    package static func seal(
        _ message: [UInt8], for subscription: WebPushSubscription, sender: P256PrivateKey, salt: [UInt8]
    ) -> [UInt8]? {
        guard salt.count == Self.saltBytes, message.count + 1 + AES128GCM.tagBytes <= Self.recordBytes,
            let shared = sender.shared(with: subscription.key)
        else { return nil }
        // RFC 8291 §3.4.
        let pair = HKDF.extract(salt: subscription.secret, shared)
        let info = Array("WebPush: info\0".utf8) + subscription.key.bytes + sender.publicKey.bytes
        let material = HKDF.expand(pair, info: info, count: 32)
        let root = HKDF.extract(salt: salt, material)
        let key = HKDF.expand(root, info: Array("Content-Encoding: aes128gcm\0".utf8), count: AES128GCM.keyBytes)
        let nonce = HKDF.expand(root, info: Array("Content-Encoding: nonce\0".utf8), count: AES128GCM.nonceBytes)
        // 2 marks the last record (RFC 8188 §2).
        guard let sealed = AES128GCM.seal(message + [2], key: key, nonce: nonce) else { return nil }
        let size = withUnsafeBytes(of: Self.recordBytes.bigEndian) { Array($0) }
        let sender = sender.publicKey.bytes
        return salt + size + [UInt8(sender.count)] + sender + sealed
    }
}

/// The rules of RFC 8030 and RFC 8292 for requests and answers.
package struct WebPushRules: Sendable {
    /// Longest life of a VAPID token: 24 hours (RFC 8292 §2). Ours lives half of it and is renewed well before.
    package static let tokenLife = Duration.seconds(12 * 3_600)
    package static let tokenUsedFor = Duration.seconds(6 * 3_600)

    private let key: P256PrivateKey
    /// How the push service's operators reach ours: `mailto:` or `https:` (RFC 8292 §2.1).
    private let contact: String

    package init(key: P256PrivateKey, contact: String) {
        self.key = key
        self.contact = contact
    }

    /// The value of `Authorization` for all endpoints of one origin.
    package func authorization(for origin: String, at now: Timestamp) -> String? {
        var header = JSONWriter()
        header.add("typ", "JWT")
        header.add("alg", "ES256")
        var claims = JSONWriter()
        claims.add("aud", origin)
        claims.add("exp", (now + Self.tokenLife).milliseconds / 1_000)
        claims.add("sub", self.contact)
        return WebToken.make(header: header.finished(), claims: claims.finished(), sign: self.key.sign)
            .map { "vapid t=\($0), k=\(Base64URL.encode(self.key.publicKey.bytes))" }
    }

    /// - Parameters:
    ///   - sender, salt: see `WebPushEncryption.seal`.
    package func request(
        _ push: Push, to subscription: WebPushSubscription, authorization: String, sender: P256PrivateKey,
        salt: [UInt8],
        at now: Timestamp
    ) -> HTTP2Request? {
        guard let body = WebPushEncryption.seal(push.facts, for: subscription, sender: sender, salt: salt) else {
            return nil
        }
        return HTTP2Request(
            path: subscription.endpoint.path,
            headers: [
                ("authorization", authorization), ("content-type", "application/octet-stream"),
                ("content-encoding", "aes128gcm"), ("ttl", "\(push.secondsLeft(at: now))"),
                ("urgency", push.isUrgent ? "high" : "normal"),
                // At most 32 characters of base64url (RFC 8030 §5.4): a UUID without its dashes has 32.
                ("topic", push.collapseKey.filter { $0 != "-" }),
            ],
            body: body)
    }

    package static func answer(_ response: HTTP2Response, sentAt: Timestamp) -> PushAnswer {
        switch response.status {
        case 200...299: .sent
        case 404, 410: .tokenGone(asOf: sentAt)
        case 401, 403: .later(.credentials, after: nil)
        case 429: .later(.throttled, after: response.retryAfter)
        case 500...599: .later(.unavailable, after: response.retryAfter)
        default: .refused
        }
    }
}
