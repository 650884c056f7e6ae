package import Contract

/// A number that two people in a room compare by voice: equal only if the server gave them no false keys (contract
/// §15.2).
package enum SafetyNumber {
    /// Symbols of base32, 120 bits. An attacker could match sixty bits by trying keys.
    package static let symbols = 24
    /// Groups of five digits that two contacts compare.
    package static let groups = 12

    /// The digits that two contacts compare: equal only if both have each other's true keys.
    /// - Parameters:
    ///   - one, other: the keys of both, in any order.
    package static func text(_ one: PublicKeys, _ other: PublicKeys) -> String {
        let keys = [one, other].map { $0.sign.bytes + $0.box.bytes }.sorted { $0.lexicographicallyPrecedes($1) }
        let groups = (0..<Self.groups).map { group in
            let digest = Sodium.sha256(Array("whisper-contacts\n\(group)\n".utf8) + keys[0] + keys[1])
            let number = digest.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) } % 100_000
            let digits = "\(number)"
            return String(repeating: "0", count: 5 - digits.count) + digits
        }
        return groups.joined(separator: " ")
    }

    /// - Parameters:
    ///   - one, other: the keys of both, in any order.
    package static func text(room: UUIDText, _ one: PublicKeys, _ other: PublicKeys) -> String {
        let keys = [one, other].map { $0.sign.bytes + $0.box.bytes }.sorted { $0.lexicographicallyPrecedes($1) }
        let digest = Sodium.sha256(Array("whisper-room\n\(room)".utf8) + keys[0] + keys[1])
        // Five bytes are eight symbols.
        let symbols = stride(from: 0, to: Self.symbols * 5 / 8, by: 5).flatMap { start in
            let bits = digest[start..<start + 5].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            return (0..<8).map { Base32.symbol(UInt8(truncatingIfNeeded: bits >> UInt64(5 * (7 - $0))) & 31) }
        }
        return String(decoding: symbols, as: UTF8.self)
    }
}
