import TestKit

/// Facts about edwards25519 (RFC 8032 §5.1).
enum Group {
    /// L, 32 bytes, little-endian.
    static let order = hex("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010")
    static let identity = hex("0100000000000000000000000000000000000000000000000000000000000000")

    /// The points of order 1, 2, 4, 4, 8, 8, 8, 8.
    static let smallOrderPoints = Torsion.points

    /// And their other spellings: a sign for x = 0, and y + p.
    static let smallOrderEncodings =
        Self.smallOrderPoints
        + [
            "0100000000000000000000000000000000000000000000000000000000000080",
            "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
            "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
            "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
            "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
            "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
        ].map(hex)

    /// All y of p and more, with both signs.
    static let misspelledEncodings = (UInt8(0)..<19).flatMap { small in
        [UInt8(0x7F), 0xFF].map { [0xED + small] + [UInt8](repeating: 0xFF, count: 30) + [$0] }
    }

    /// The sum with L as whole numbers, modulo 2^256.
    static func plusOrder(_ number: [UInt8]) -> [UInt8] {
        var carry = 0
        return zip(number, Self.order).map { x, y in
            let sum = Int(x) + Int(y) + carry
            carry = sum >> 8
            return UInt8(sum & 255)
        }
    }
}

func hex(_ text: String) -> [UInt8] {
    stride(from: 0, to: text.count, by: 2).map { UInt8(text.dropFirst($0).prefix(2), radix: 16)! }
}
