import CSodium

/// The points of edwards25519 whose order is 1, 2, 4 or 8, encoded: what the owner of a key can add to points without
/// changing anything that is multiplied by the cofactor.
package enum Torsion {
    package static let points: [[UInt8]] = [
        [1] + [UInt8](repeating: 0, count: 31),
        [0xEC] + [UInt8](repeating: 0xFF, count: 30) + [0x7F],
        [UInt8](repeating: 0, count: 32),
        [UInt8](repeating: 0, count: 31) + [0x80],
        Self.orderEight(0x7A), Self.orderEight(0xFA), Self.orderEight(0x05), Self.orderEight(0x85),
    ]

    /// A point of order 2, one of order 4, and one of order 8.
    package static let oneOfEachOrder = [Self.points[1], Self.points[2], Self.points[4]]

    private static func orderEight(_ last: UInt8) -> [UInt8] {
        let y: [UInt8] = [
            0xC7, 0x17, 0x6A, 0x70, 0x3D, 0x4D, 0xD8, 0x4F, 0xBA, 0x3C, 0x0B, 0x76, 0x0D, 0x10, 0x67, 0x0F,
            0x2A, 0x20, 0x53, 0xFA, 0x2C, 0x39, 0xCC, 0xC6, 0x4E, 0xC7, 0xFD, 0x77, 0x92, 0xAC, 0x03,
        ]
        // The other two have p - y, which differs in every byte but the lowest by its complement.
        guard last & 0x7F == 0x05 else { return y + [last] }
        return [0xED - y[0]] + y.dropFirst().map { ~$0 } + [last]
    }
}

extension Keys {
    /// A signature whose R, and key, have a part of small order, and whose S is made for it: it fits if everything is
    /// multiplied by the cofactor, and libsodium refuses it unless the parts cancel each other.
    /// - Parameters:
    ///   - torsionOfR: one of `Torsion.points`, added to R.
    ///   - torsionOfKey: one of `Torsion.points`, added to the public key.
    ///   - isRNothingElse: R is `torsionOfR` alone.
    ///   - salt: with another one, R and S are others for the same message.
    /// - Returns: the signature, and the public key that it is meant for.
    package func sign(
        _ message: [UInt8], torsionOfR: [UInt8], torsionOfKey: [UInt8] = Torsion.points[0],
        isRNothingElse: Bool = false,
        salt: [UInt8] = []
    ) -> (signature: [UInt8], publicKey: [UInt8]) {
        let zero = [UInt8](repeating: 0, count: 32)
        let secret = self.signScalar
        var (nonce, r) = (zero, torsionOfR)
        if !isRNothingElse {
            nonce = Self.reduced(Self.sha512(secret + salt + message))
            var point = zero
            crypto_scalarmult_ed25519_base_noclamp(&point, nonce)
            r = Self.sum(point, torsionOfR)
        }
        let publicKey = self.signPublicKey(adding: torsionOfKey)
        let h = Self.reduced(Self.sha512(r + publicKey + message))
        var s = zero
        crypto_core_ed25519_scalar_mul(&s, h, Self.reduced(secret + zero))
        crypto_core_ed25519_scalar_add(&s, s, nonce)
        return (r + s, publicKey)
    }

    package func signPublicKey(adding torsion: [UInt8]) -> [UInt8] { Self.sum(self.signPublicKey, torsion) }

    /// Sum of two points, encoded.
    private static func sum(_ p: [UInt8], _ q: [UInt8]) -> [UInt8] {
        var sum = [UInt8](repeating: 0, count: 32)
        precondition(crypto_core_ed25519_add(&sum, p, q) == 0, "both are points")
        return sum
    }

    private static func reduced(_ number: [UInt8]) -> [UInt8] {
        var scalar = [UInt8](repeating: 0, count: 32)
        crypto_core_ed25519_scalar_reduce(&scalar, number)
        return scalar
    }

    fileprivate static func sha512(_ bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 64)
        crypto_hash_sha512(&digest, bytes, UInt64(bytes.count))
        return digest
    }
}
