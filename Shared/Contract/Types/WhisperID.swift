/// A Whisper ID: `WSP-XXXX-XXXX-XXXX`, twelve symbols of `A-Z2-7` (contract §2, §4).
///
/// Ten symbols come from the identity's keys, two are their checksum. Held as its 60 bits, so that it costs eight bytes
/// in memory and is an ordinary integer in the database.
package struct WhisperID: Hashable, Comparable, Sendable {
    /// The twelve symbols, five bits each, the first in the highest bits. Below 2^60.
    package let bits: UInt64

    package static let symbols = 12
    /// `WSP-` and three groups of four with dashes between.
    package static let textLength = 18

    package init?(bits: UInt64) {
        guard bits < 1 << 60 else { return nil }
        self.bits = bits
    }

    /// Reads the shown form exactly; no other spelling is an id.
    package init?<C: Collection<UInt8>>(ascii text: C) {
        guard text.count == Self.textLength else { return nil }
        var bits: UInt64 = 0
        var offset = 0
        for byte in text {
            switch offset {
            case 0: guard byte == UInt8(ascii: "W") else { return nil }
            case 1: guard byte == UInt8(ascii: "S") else { return nil }
            case 2: guard byte == UInt8(ascii: "P") else { return nil }
            case 3, 8, 13: guard byte == UInt8(ascii: "-") else { return nil }
            default:
                guard let value = Base32.value(of: byte) else { return nil }
                bits = bits << 5 | UInt64(value)
            }
            offset += 1
        }
        self.bits = bits
    }

    package init?(_ text: String) {
        self.init(ascii: text.utf8)
    }

    package static func < (a: WhisperID, b: WhisperID) -> Bool { a.bits < b.bits }

    /// Calls `body` with each of the eighteen characters.
    @inline(__always)
    package func forEachByte(_ body: (UInt8) -> Void) {
        body(UInt8(ascii: "W"))
        body(UInt8(ascii: "S"))
        body(UInt8(ascii: "P"))
        for position in 0..<Self.symbols {
            if position % 4 == 0 { body(UInt8(ascii: "-")) }
            body(Base32.symbol(UInt8(truncatingIfNeeded: self.bits >> UInt64(55 - 5 * position)) & 31))
        }
    }
}

extension WhisperID: CustomStringConvertible {
    package var description: String {
        String(unsafeUninitializedCapacity: Self.textLength) { buffer in
            var count = 0
            self.forEachByte {
                buffer[count] = $0
                count += 1
            }
            return count
        }
    }
}

extension WhisperID {
    /// The id that belongs to a pair of public keys at one value of the collision counter (contract §4).
    /// The server takes the first counter, from 0, whose id is free; a client finds which counter was taken by trying them.
    /// - Parameter sha256: SHA-256, 32 bytes.
    package static func derived(
        signPublicKey: [UInt8], encPublicKey: [UInt8], counter: UInt8, sha256: ([UInt8]) -> [UInt8]
    ) -> WhisperID {
        let digest = sha256(Array("whisper-id\n".utf8) + signPublicKey + encPublicKey + [counter])
        var payload: UInt64 = 0
        for byte in digest.prefix(8) { payload = payload << 8 | UInt64(byte) }
        payload >>= 64 - 50
        var payloadText: [UInt8] = []
        for position in 0..<10 {
            payloadText.append(Base32.symbol(UInt8(truncatingIfNeeded: payload >> UInt64(45 - 5 * position)) & 31))
        }
        let check = sha256(Array("whisper-id-check\n".utf8) + payloadText)
        let checkBits = (UInt64(check[0]) << 8 | UInt64(check[1])) >> 6
        return WhisperID(bits: payload << 10 | checkBits)!
    }
}

/// The alphabet of Whisper IDs and of safety numbers: RFC 4648 base32 without padding.
package enum Base32 {
    static func value(of byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte - UInt8(ascii: "A")
        case UInt8(ascii: "2")...UInt8(ascii: "7"): byte - UInt8(ascii: "2") + 26
        default: nil
        }
    }

    /// - Parameter value: below 32.
    package static func symbol(_ value: UInt8) -> UInt8 {
        value < 26 ? UInt8(ascii: "A") + value : UInt8(ascii: "2") + value - 26
    }
}
