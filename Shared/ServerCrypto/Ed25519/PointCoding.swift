internal import Contract

extension EdwardsPoint {
    /// The point of an encoding (RFC 8032 §5.1.3).
    /// - Returns: nil if it is not on the curve, or spelled with a y of p or more. A point with x = 0 passes with either
    ///   sign: its order is small, so callers refuse it (`hasSmallOrder`).
    init?(decoding encoding: Bytes32) {
        let words = encoding.words
        guard let y = FieldElement(canonical: words) else { return nil }
        let yy = y.squared
        let (u, v) = ((yy - .one).carried, (FieldElement.d * yy + .one).carried)
        guard let root = FieldElement.squareRoot(u, over: v) else { return nil }
        let x = root.isNegative == (words.3 >> 63 == 1) ? root : -root
        self.init(x: x, y: y, z: .one, t: x * y)
    }

    /// Whether the order is 1, 2, 4 or 8: x is 0 (orders 1 and 2), y is 0 (order 4) or x² = -y² (order 8, whose
    /// doubles have y = 0).
    var hasSmallOrder: Bool { (self.t * (self.x.squared + self.y.squared)).isZero }

    /// The encoding of a point with z = 1 (RFC 8032 §5.1.2).
    var encoded: Bytes32 {
        var words = self.y.words
        if self.x.isNegative { words.3 |= 1 << 63 }
        return Bytes32(words: words)
    }

    static prefix func - (point: Self) -> Self { Self(x: -point.x, y: point.y, z: point.z, t: -point.t) }
}

extension ProjectivePoint {
    /// Points with z = 1. All share one inversion (Montgomery's trick).
    static func normalized(_ points: [ProjectivePoint]) -> [EdwardsPoint] {
        // First, for each point, the product of the z before it; then, from the last on, the inverse of its own z.
        var inverses: [FieldElement] = []
        inverses.reserveCapacity(points.count)
        var product = FieldElement.one
        for point in points {
            inverses.append(product)
            product = product * point.z
        }
        var inverse = product.inverted
        for (index, point) in points.enumerated().reversed() {
            inverses[index] = inverses[index] * inverse
            inverse = inverse * point.z
        }
        return zip(points, inverses).map { point, inverse in
            let (x, y) = (point.x * inverse, point.y * inverse)
            return EdwardsPoint(x: x, y: y, z: .one, t: x * y)
        }
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

    init(words: (UInt64, UInt64, UInt64, UInt64)) {
        self.init()
        self.withUnsafeMutableBytes { bytes in
            bytes.storeBytes(of: words.0.littleEndian, toByteOffset: 0, as: UInt64.self)
            bytes.storeBytes(of: words.1.littleEndian, toByteOffset: 8, as: UInt64.self)
            bytes.storeBytes(of: words.2.littleEndian, toByteOffset: 16, as: UInt64.self)
            bytes.storeBytes(of: words.3.littleEndian, toByteOffset: 24, as: UInt64.self)
        }
    }
}
