internal import Contract

extension EdwardsPoint {
    /// Points from their encodings (RFC 8032 §5.1.3), two at a time (`FieldPair`).
    /// - Returns: nil for each that libsodium refuses as well: not on the curve, of order 8 or below, or spelled with a y of p or
    ///   more. (An x of 0 with a sign, the other spelling that is not canonical, has such an order.)
    static func decoded(_ encodings: [Bytes32]) -> [EdwardsPoint?] {
        var points: [EdwardsPoint?] = []
        points.reserveCapacity(encodings.count)
        for index in stride(from: 0, to: encodings.count, by: 2) {
            let hasSecond = index + 1 < encodings.count
            let first = HalfDecoded(encodings[index])
            let second = hasSecond ? HalfDecoded(encodings[index + 1]) : nil
            let powers = FieldPair(first: first?.rootBase ?? .zero, second: second?.rootBase ?? .zero).squareRootPower
            points.append(first?.point(power: powers.first))
            if hasSecond { points.append(second?.point(power: powers.second)) }
        }
        return points
    }
}

/// An encoding whose square root is still to be drawn: x² = u/v.
private struct HalfDecoded {
    private let y: FieldElement
    private let isNegative: Bool
    private let u: FieldElement
    private let v: FieldElement
    /// What is to be raised to the power of (p - 5)/8.
    let rootBase: FieldElement

    init?(_ encoding: Bytes32) {
        let words = encoding.words
        guard let y = FieldElement(canonical: words) else { return nil }
        let yy = y.squared
        let u = (yy - .one).carried
        let v = (FieldElement.d * yy + .one).carried
        // The points of small order: x = 0 (orders 1 and 2), y = 0 (order 4) and x² = -y² (order 8, whose doubles have y = 0).
        guard !u.isZero, !yy.isZero, !(u + yy * v).isZero else { return nil }
        self.y = y
        self.isNegative = words.3 >> 63 == 1
        self.u = u
        self.v = v
        let v3 = v.squared * v
        self.rootBase = u * v3.squared * v
    }

    func point(power: FieldElement) -> EdwardsPoint? {
        guard let root = FieldElement.squareRoot(self.u, over: self.v, power: power) else { return nil }
        let x = root.isNegative == self.isNegative ? root : -root
        return EdwardsPoint(x: x, y: self.y, z: .one, t: x * self.y)
    }
}

extension Bytes32 {
    /// As a little-endian number, lowest word first.
    var words: (UInt64, UInt64, UInt64, UInt64) {
        self.withUnsafeBytes { bytes in
            func word(_ index: Int) -> UInt64 {
                UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 8 * index, as: UInt64.self))
            }
            return (word(0), word(1), word(2), word(3))
        }
    }
}
