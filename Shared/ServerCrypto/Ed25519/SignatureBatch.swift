internal import CSodium
internal import Contract

/// The signatures of a batch as terms of one equation.
///
/// With h = SHA-512(R ‖ A ‖ message), a signature (R, S) under the key A is valid if 8·S·B = 8·R + 8·h·A (RFC 8032 §5.1.7). Several are
/// valid together if the sum of these equations holds, each multiplied by a random z of 128 bits: were one of them false, a sum
/// with z that nobody could foresee would hold with a chance of 2^-128 (Bernstein et al., "High-speed high-security signatures", §5).
///
/// **The cofactor.** The factor 8 takes out of R and A what lies in the subgroup of order 8. libsodium, asked about one
/// signature, leaves the factor out, as the RFC allows. The two differ for signatures alone whose R was given such a part, and only the
/// key's owner can make those: keys with one are refused when they register (`Signatures.isUsableSignKey`). Without the factor a sum
/// would hold for such signatures or not by chance (parts of even order cancel each other whatever z is), so that it had to be
/// asked for R in the main subgroup each time, which costs as much as it saves. So the owner of a key may get a signature accepted
/// here that libsodium refuses at the recipient's: as when sending a ciphertext that nobody can read.
///
/// Nothing here is secret, so everything takes variable time.
struct SignatureBatch: ~Copyable {
    /// A signature in the equation.
    private struct Member {
        /// Its place among the signatures given.
        let index: Int
        let keyIndex: Int
        let z: UInt128
        /// z·S and z·h.
        let zs: Scalar
        let zh: Scalar
    }

    private let members: [Member]
    private let keyCount: Int
    /// Odd multiples of the keys, then of each member's R.
    private let multiples: UnsafeMutablePointer<CachedPoint>

    /// Leaves those out that are malformed: an S of L or more, an R or a key that is no point, of small order or not spelled canonically.
    init(_ signed: ArraySlice<SignedDigest>) {
        // Messages of one sender come in runs: a key is decoded once, and its terms are one.
        var keyIndices: [Bytes32: Int] = [:]
        var encodings: [Bytes32] = []
        encodings.reserveCapacity(2 * signed.count)
        let keyOf = signed.map { signed in
            if let known = keyIndices[signed.key] { return known }
            keyIndices[signed.key] = encodings.count
            encodings.append(signed.key)
            return encodings.count - 1
        }
        let keyCount = encodings.count
        for one in signed { encodings.append(one.signature.first) }
        let points = EdwardsPoint.decoded(encodings)

        let multiples = UnsafeMutablePointer<CachedPoint>.allocate(capacity: encodings.count * PointSum.multiplesPerPoint)
        for index in 0..<keyCount {
            // The place of one that is no point stays as it is: no member refers to it.
            if let key = points[index] { PointSum.multiply(key, into: multiples + index * PointSum.multiplesPerPoint) }
        }
        var members: [Member] = []
        members.reserveCapacity(signed.count)
        let randomness = randomBytes(16 * signed.count)
        for (place, one) in signed.enumerated() {
            guard let r = points[keyCount + place], points[keyOf[place]] != nil, let s = Scalar(canonical: one.signature.second)
            else { continue }
            PointSum.multiply(r, into: multiples + (keyCount + members.count) * PointSum.multiplesPerPoint)
            let z = randomness.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 16 * place, as: UInt128.self) }
            members.append(
                Member(index: signed.startIndex + place, keyIndex: keyOf[place], z: z, zs: s * z, zh: one.challenge * z))
        }
        self.members = members
        self.keyCount = keyCount
        self.multiples = multiples
    }

    // Points are plain numbers: nothing to deinitialize.
    deinit { self.multiples.deallocate() }

    /// How many are in the equation.
    var count: Int { self.members.count }

    /// The places of the members of a part.
    func indices(_ part: Range<Int>) -> [Int] { self.members[part].map(\.index) }

    /// Whether the equation holds for a part of the members: then they are valid. Otherwise at least one of them is not.
    func holds(_ part: Range<Int>) -> Bool {
        var sum = PointSum(terms: 2 * part.count + 1)
        var s = Scalar.zero
        var ofKeys = [Scalar](repeating: .zero, count: self.keyCount)
        for place in part {
            let member = self.members[place]
            s = s + member.zs
            ofKeys[member.keyIndex] = ofKeys[member.keyIndex] + member.zh
            sum.add(Scalar(member.z), times: self.multiplesOfPoint(self.keyCount + place))
        }
        for (index, scalar) in ofKeys.enumerated() where scalar != .zero {
            sum.add(scalar, times: self.multiplesOfPoint(index))
        }
        sum.add(-s, times: PointSum.base, width: PointSum.baseWidth)
        var total = sum.total()
        // The cofactor.
        for _ in 0..<3 { total = total.doubled.projective }
        return total.isIdentity
    }

    private func multiplesOfPoint(_ index: Int) -> PointSum.OddMultiples {
        PointSum.OddMultiples(self.multiples + index * PointSum.multiplesPerPoint)
    }
}

extension SignedDigest {
    /// h: SHA-512 of R, the key and the message, modulo L.
    fileprivate var challenge: Scalar {
        let input = (self.signature.first, self.key, self.digest)
        var hash = Bytes64()
        hash.withUnsafeMutableBytes { hash in
            withUnsafeBytes(of: input) { input in
                _ = crypto_hash_sha512(
                    hash.baseAddress!.assumingMemoryBound(to: UInt8.self), input.baseAddress!.assumingMemoryBound(to: UInt8.self),
                    UInt64(input.count))
            }
        }
        return Scalar(reducing: hash)
    }
}
