internal import Contract

/// A public key A, made ready to check many signatures.
///
/// A multiple of A takes 252 doublings. Three quarters of them are the same for each signature: they are made here,
/// once. The kept points are -A, -2^64·A, -2^128·A and -2^192·A. A key that is used only once costs no more than it
/// would without this.
final class PreparedKey: Sendable {
    let key: Bytes32
    private let negatives: InlineArray<4, EdwardsPoint>

    /// - Returns: nil for a key that libsodium refuses as well: not on the curve, of small order, or
    ///   spelled with a y of p or more.
    init?(_ key: Bytes32) {
        guard let point = EdwardsPoint(decoding: key), !point.hasSmallOrder else { return nil }
        self.key = key
        self.negatives = InlineArray(first: -point) { $0.doubled(times: PointMultiples.shareBits) }
    }

    /// s·B - h·A. A valid signature has this point as its R (RFC 8032 §5.1.7).
    func commitment(s: Scalar, h: Scalar) -> ProjectivePoint {
        // Wider digits would save fewer additions than their multiples cost.
        let width: UInt64 = 4
        let multiples = PointMultiples(self.negatives, width: width)
        return PointMultiples.sum(
            h.digits(width: width), of: multiples, and: s.digits(width: PointMultiples.baseWidth),
            of: PointMultiples.base)
    }
}
