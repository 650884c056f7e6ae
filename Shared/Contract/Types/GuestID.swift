/// The id of a guest: `gst-` and 32 lower-case hexadecimal digits (contract §14.2).
///
/// A guest is whoever proved a pair of keys without registering. The same keys are always the same guest.
package struct GuestID: Hashable, Comparable, Sendable {
    package let high: UInt64
    package let low: UInt64

    package static let prefix = "gst-"
    package static let textLength = 36

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Reads the shown form exactly; no other spelling is an id.
    package init?<C: Collection<UInt8>>(ascii text: C) {
        guard text.count == Self.textLength, text.starts(with: Self.prefix.utf8) else { return nil }
        var (high, low): (UInt64, UInt64) = (0, 0)
        for byte in text.dropFirst(Self.prefix.utf8.count) {
            guard let digit = Hexadecimal.lowerCaseDigit(byte) else { return nil }
            high = high << 4 | low >> 60
            low = low << 4 | UInt64(digit)
        }
        self.init(high: high, low: low)
    }

    package init?(_ text: String) { self.init(ascii: text.utf8) }

    package static func < (a: GuestID, b: GuestID) -> Bool { (a.high, a.low) < (b.high, b.low) }

    /// Calls `body` with each of the 36 characters.
    package func forEachByte(_ body: (UInt8) -> Void) {
        Self.prefix.utf8.forEach(body)
        for position in 0..<32 {
            let word = position < 16 ? self.high : self.low
            body(Hexadecimal.digit(UInt8(truncatingIfNeeded: word >> UInt64(60 - 4 * (position % 16))) & 15))
        }
    }
}

extension GuestID: CustomStringConvertible {
    package var description: String {
        var text: [UInt8] = []
        self.forEachByte { text.append($0) }
        return String(decoding: text, as: UTF8.self)
    }
}

extension GuestID {
    /// The id that belongs to a pair of public keys (contract §14.2).
    /// - Parameter sha256: SHA-256, 32 bytes.
    package static func derived(
        signPublicKey: [UInt8], encPublicKey: [UInt8], sha256: ([UInt8]) -> [UInt8]
    ) -> GuestID {
        let words = DigestWords(sha256(Array("whisper-guest\n".utf8) + signPublicKey + encPublicKey))
        return GuestID(high: words.high, low: words.low)
    }
}

/// The first 16 bytes of a digest.
struct DigestWords {
    let high: UInt64
    let low: UInt64

    init(_ digest: [UInt8]) {
        func word(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
        self.high = word(digest[0..<8])
        self.low = word(digest[8..<16])
    }
}
