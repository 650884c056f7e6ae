package import Contract

/// What two people in a room compare by voice: the same on both sides only if nobody gave them other keys
/// (contract §15.2).
package enum SafetyNumber {
    package static let symbols = 12

    /// - Parameters:
    ///   - one, other: the signing keys of both, in any order.
    package static func text(room: UUIDText, _ one: Bytes32, _ other: Bytes32) -> String {
        let keys = [one.bytes, other.bytes].sorted { $0.lexicographicallyPrecedes($1) }
        let digest = Sodium.sha256(Array("whisper-room\n\(room)".utf8) + keys[0] + keys[1])
        let bits = digest.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) } >> 4
        let symbols = (0..<Self.symbols).map { place in
            Base32.symbol(UInt8(truncatingIfNeeded: bits >> UInt64(5 * (Self.symbols - 1 - place))) & 31)
        }
        return String(decoding: symbols, as: UTF8.self)
    }
}
