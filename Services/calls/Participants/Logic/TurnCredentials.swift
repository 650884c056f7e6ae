package import Contract
package import Telemetry
import ServerCrypto

/// Credentials that a TURN server believes because it knows the same secret (draft-uberti-behave-turn-rest; coturn's
/// `use-auth-secret`): the user name says when they end, the password is its HMAC.
package struct TurnCredentials: Equatable, Sendable {
    /// Bytes of a pseudonym.
    package static let pseudonymBytes = 12

    /// `{unix expiry}:{pseudonym}`. Names nobody: the relay's operator learns times and sizes, not who.
    package let username: String
    private let code: [UInt8]
    /// base64.
    package var credential: String { String(decoding: Base64.encode(self.code), as: UTF8.self) }

    /// - Parameter pseudonym: of one identity in one period. Coturn counts by it and leaves the expiry out.
    package init(secret: Secret, pseudonym: [UInt8], expiresAt: Timestamp) {
        self.username = "\(expiresAt.milliseconds / 1_000):\(Hexadecimal.text(pseudonym))"
        self.code = hmacSHA1(key: Array(secret.revealed.utf8), Array(self.username.utf8))
    }

    package func frame(urls: [String], ttl: Duration) -> TurnCredentialsFrame {
        TurnCredentialsFrame(
            urls: urls, username: self.username, credential: self.code, ttl: ttl.components.seconds)
    }
}
