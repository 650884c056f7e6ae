import CSodium

/// Signs as RFC 8032 says, and may add a point of small order (`Torsion`) to its own key or to R. Such a signature satisfies
/// the equation times eight always, and the equation that libsodium checks only by chance: batches must not take the one
/// for the other.
package struct OddSigner: Sendable {
    private static let none = Torsion.points[0]

    package let publicKey: [UInt8]
    private let keys = Keys()
    private let keyTorsion: [UInt8]

    package init(keyTorsion: [UInt8]? = nil) {
        self.keyTorsion = keyTorsion ?? Self.none
        self.publicKey = self.keys.signPublicKey(adding: self.keyTorsion)
    }

    package func sign(_ message: [UInt8], adding torsion: [UInt8]? = nil) -> [UInt8] {
        self.keys.sign(
            message, torsionOfR: torsion ?? Self.none, torsionOfKey: self.keyTorsion, salt: Keys.random(16)
        ).signature
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
