import Contract

@testable import ServerCrypto

extension FieldElement {
    /// 32 bytes, little-endian.
    var bytes: [UInt8] {
        let number = self.canonical
        let words = [
            number.a | number.b << 51, number.b >> 13 | number.c << 38, number.c >> 26 | number.d << 25,
            number.d >> 39 | number.e << 12,
        ]
        return words.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } }
    }

    /// To the power of p - 2: slow, and short enough to be seen to be right.
    var inverted: FieldElement {
        // p - 2 has ones in all of its 255 bits but the second and the fourth.
        (0..<255).reversed().reduce(FieldElement.one) { power, bit in
            bit == 2 || bit == 4 ? power.squared : power.squared * self
        }
    }
}

extension ProjectivePoint {
    /// RFC 8032 §5.1.2.
    var encoded: [UInt8] {
        let inverse = self.z.inverted
        var bytes = (self.y * inverse).bytes
        if (self.x * inverse).isNegative { bytes[31] |= 0x80 }
        return bytes
    }
}

extension EdwardsPoint {
    init?(_ encoding: [UInt8]) {
        guard let point = EdwardsPoint.decoded([Bytes32(encoding)!])[0] else { return nil }
        self = point
    }

    var encoded: [UInt8] { ProjectivePoint(self).encoded }
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

/// A sum of multiples, encoded.
func sum(_ terms: [(scalar: Scalar, point: EdwardsPoint)], ofBase base: Scalar = .zero) -> ProjectivePoint {
    let multiples = UnsafeMutablePointer<CachedPoint>.allocate(capacity: terms.count * PointSum.multiplesPerPoint + 1)
    defer { multiples.deallocate() }
    var sum = PointSum(terms: terms.count)
    for (index, term) in terms.enumerated() {
        let own = multiples + index * PointSum.multiplesPerPoint
        PointSum.multiply(term.point, into: own)
        sum.add(term.scalar, times: own)
    }
    sum.add(base, times: PointSum.base, width: PointSum.baseWidth)
    return sum.total()
}
