internal import CSodium
package import Contract

/// An alleged signature of a key over a digest.
package struct SignedDigest: Sendable {
    package let signature: Bytes64
    package let digest: Bytes32
    package let key: Bytes32

    package init(signature: Bytes64, digest: Bytes32, key: Bytes32) {
        self.signature = signature
        self.digest = digest
        self.key = key
    }
}

extension Signatures {
    /// Keys that are kept prepared, 0.7 KiB each: those of everybody who sends within a few minutes. Preparing a key
    /// costs as much as a check by a key that is prepared.
    package static let preparedKeysMax = 16_384

    private static let preparedKeys = PreparedKeyCache(count: Self.preparedKeysMax)

    /// Whether each is valid: exactly the verdict of `isValid`, in less than half of the time if its key was used
    /// lately. A signature that our own check does not accept is judged by libsodium as well, so an error in this code
    /// could not refuse a valid signature.
    package static func areValid(_ signed: [SignedDigest]) -> [Bool] {
        zip(signed, Self.fit(signed)).map { signed, fits in
            fits || Self.isValid(signed.signature, over: signed.digest, by: signed.key)
        }
    }

    /// The verdicts of our own check.
    ///
    /// Each signature is judged alone, and in libsodium's way. Only one R fits a key A, a digest and S: s·B - h·A, with
    /// h = SHA-512(R ‖ A ‖ digest). That point is computed, and its encoding is compared with the signature's R. This
    /// is RFC 8032 §5.1.7 without the cofactor, for points of every order. So recipients, who ask libsodium, accept
    /// what is accepted here. Signatures that are checked together share one inversion, which encodings need, and
    /// nothing else.
    ///
    /// Nothing here is secret, so everything takes variable time.
    static func fit(_ signed: [SignedDigest]) -> [Bool] {
        let commitments = ProjectivePoint.normalized(
            signed.map { $0.commitment(preparedKeys: Self.preparedKeys) ?? .identity })
        return zip(signed, commitments).map { signed, commitment in
            // libsodium takes no R of small order. The identity, which stands for malformed ones here, is such a point.
            !commitment.hasSmallOrder && commitment.encoded == signed.signature.first
        }
    }
}

extension SignedDigest {
    /// The only R that fits.
    /// - Returns: nil if the key is not usable, or S is L or more.
    func commitment(preparedKeys: borrowing PreparedKeyCache) -> ProjectivePoint? {
        guard let s = Scalar(canonical: self.signature.second), let key = preparedKeys.prepared(self.key)
        else { return nil }
        return key.commitment(s: s, h: self.challenge)
    }

    /// h: SHA-512 of R, the key and the digest, modulo L.
    private var challenge: Scalar {
        let input = (self.signature.first, self.key, self.digest)
        var hash = Bytes64()
        hash.withUnsafeMutableBytes { hash in
            withUnsafeBytes(of: input) { input in
                _ = crypto_hash_sha512(
                    hash.baseAddress!.assumingMemoryBound(to: UInt8.self),
                    input.baseAddress!.assumingMemoryBound(to: UInt8.self), UInt64(input.count))
            }
        }
        return Scalar(reducing: hash)
    }
}
