import CSodium

/// Signs as RFC 8032 says, and may add a point of small order to its own key or to R. Such a signature satisfies the
/// equation times eight always, and the equation that libsodium checks only by chance: batches must not take the one
/// for the other.
package struct OddSigner: Sendable {
    /// Points of small order, encoded.
    package enum Torsion: String, CaseIterable, Sendable {
        case order2 = "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"
        case order4 = "0000000000000000000000000000000000000000000000000000000000000000"
        case order8 = "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"

        fileprivate var point: [UInt8] {
            let digits = Array(self.rawValue)
            return stride(from: 0, to: digits.count, by: 2).map { UInt8(String(digits[$0...($0 + 1)]), radix: 16)! }
        }
    }

    package let publicKey: [UInt8]
    private let secret: [UInt8]

    package init(keyTorsion: Torsion? = nil) {
        self.secret = Self.randomScalar()
        self.publicKey = Self.point(self.secret, plus: keyTorsion)
    }

    package func sign(_ message: [UInt8], adding torsion: Torsion? = nil) -> [UInt8] {
        let nonce = Self.randomScalar()
        let commitment = Self.point(nonce, plus: torsion)
        var digest = [UInt8](repeating: 0, count: 64)
        let hashed = commitment + self.publicKey + message
        crypto_hash_sha512(&digest, hashed, UInt64(hashed.count))
        var (challenge, product, response) = (Self.zeros, Self.zeros, Self.zeros)
        crypto_core_ed25519_scalar_reduce(&challenge, digest)
        crypto_core_ed25519_scalar_mul(&product, challenge, self.secret)
        crypto_core_ed25519_scalar_add(&response, nonce, product)
        return commitment + response
    }

    /// Whether libsodium, which recipients use, takes it.
    package func fits(_ signature: [UInt8], _ message: [UInt8]) -> Bool {
        crypto_sign_ed25519_verify_detached(signature, message, UInt64(message.count), self.publicKey) == 0
    }

    /// One that libsodium takes. With torsion in the key that needs a few attempts.
    package func fitting(_ message: [UInt8]) -> [UInt8] {
        while true {
            let signature = self.sign(message)
            if self.fits(signature, message) { return signature }
        }
    }

    private static let zeros = [UInt8](repeating: 0, count: 32)

    private static func randomScalar() -> [UInt8] {
        precondition(sodium_init() >= 0)
        var scalar = self.zeros
        crypto_core_ed25519_scalar_random(&scalar)
        return scalar
    }

    private static func point(_ scalar: [UInt8], plus torsion: Torsion?) -> [UInt8] {
        var (point, sum) = (self.zeros, self.zeros)
        precondition(crypto_scalarmult_ed25519_base_noclamp(&point, scalar) == 0)
        guard let torsion else { return point }
        precondition(crypto_core_ed25519_add(&sum, point, torsion.point) == 0)
        return sum
    }
}

extension OddSigner {
    /// Logs in as whoever has this key.
    /// - Throws: `Missing`; `Unexpected` with whatever is not the `register_ack`.
    package func logIn(on client: TestClient) async throws -> Phone {
        let person = Person()
        let challenge = try await client.ask("register_begin", person.begin()).expecting("register_challenge").payload
        let signature = self.fitting(challenge["challenge"]?.string?.bytesOfBase64 ?? [])
        let proof = person.proof(of: challenge).with([
            "signPublicKey": self.publicKey.base64, "signature": signature.base64,
        ])
        let ack = try await client.ask("register_proof", proof).expecting("register_ack")
        guard let id = ack.payload["whisperId"]?.string, let token = ack.payload["sessionToken"]?.string else {
            throw Unexpected(frame: ack)
        }
        return Phone(client: client, person: person, id: id, token: token)
    }
}
