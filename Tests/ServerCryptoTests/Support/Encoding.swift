import Contract

@testable import ServerCrypto

extension FieldElement {
    /// 32 bytes, little-endian.
    var bytes: [UInt8] {
        let words = [self.words.0, self.words.1, self.words.2, self.words.3]
        return words.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } }
    }
}

extension ProjectivePoint {
    var encoded: [UInt8] { Self.normalized([self])[0].encoded.bytes }
    var isIdentity: Bool { self.encoded == Group.identity }
}

extension EdwardsPoint {
    /// - Returns: nil for what no key may be.
    init?(_ encoding: [UInt8]) {
        guard let point = EdwardsPoint(decoding: Bytes32(encoding)!), !point.hasSmallOrder else { return nil }
        self = point
    }

    var shares: InlineArray<4, EdwardsPoint> {
        InlineArray(first: self) { $0.doubled(times: PointMultiples.shareBits) }
    }
}

extension Scalar {
    /// 32 bytes, little-endian.
    var bytes: [UInt8] {
        [self.a, self.b, self.c, self.d].flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } }
    }

    /// - Parameter bytes: 32 or 64 of them, little-endian.
    init(_ bytes: [UInt8]) {
        self.init(reducing: Bytes64(bytes + [UInt8](repeating: 0, count: 64 - bytes.count))!)
    }
}
