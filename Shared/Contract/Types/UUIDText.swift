/// A UUID as a client wrote it (contract §2): relayed in exactly that spelling, because the signature covers the text;
/// compared without regard to case.
package struct UUIDText: Hashable, Sendable {
    package let high: UInt64
    package let low: UInt64
    /// Bit n is set when the n-th hex digit was an upper-case letter.
    package let upperCase: UInt32

    package static let textLength = 36

    package init(high: UInt64, low: UInt64, upperCase: UInt32 = 0) {
        self.high = high
        self.low = low
        self.upperCase = upperCase
    }

    package init?<C: Collection<UInt8>>(ascii text: C) {
        guard text.count == Self.textLength else { return nil }
        var high: UInt64 = 0
        var low: UInt64 = 0
        var upperCase: UInt32 = 0
        var offset = 0
        var digit = 0
        for byte in text {
            defer { offset += 1 }
            if offset == 8 || offset == 13 || offset == 18 || offset == 23 {
                guard byte == UInt8(ascii: "-") else { return nil }
                continue
            }
            let value: UInt8
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = byte - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): value = byte - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"):
                value = byte - UInt8(ascii: "A") + 10
                upperCase |= 1 << UInt32(digit)
            default: return nil
            }
            if digit < 16 { high = high << 4 | UInt64(value) } else { low = low << 4 | UInt64(value) }
            digit += 1
        }
        self.high = high
        self.low = low
        self.upperCase = upperCase
    }

    package init?(_ text: String) { self.init(ascii: text.utf8) }

    /// A new random UUID, version 4.
    package static func random() -> UUIDText {
        UUIDText(
            high: UInt64.random(in: .min ... .max) & 0xFFFF_FFFF_FFFF_0FFF | 0x4000,
            low: UInt64.random(in: .min ... .max) & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000)
    }

    package static func == (a: UUIDText, b: UUIDText) -> Bool { a.high == b.high && a.low == b.low }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(self.high)
        hasher.combine(self.low)
    }

    /// Version 4 and the RFC 4122 variant.
    package var isVersion4: Bool { self.high & 0xF000 == 0x4000 && self.low >> 62 == 0b10 }

    /// Calls `body` with each of the 36 characters, in the spelling received.
    @inline(__always)
    package func forEachByte(_ body: (UInt8) -> Void) {
        for digit in 0..<32 {
            if digit == 8 || digit == 12 || digit == 16 || digit == 20 { body(UInt8(ascii: "-")) }
            let word = digit < 16 ? self.high : self.low
            let value = UInt8(truncatingIfNeeded: word >> UInt64(60 - 4 * (digit % 16))) & 15
            switch value {
            case 0..<10: body(UInt8(ascii: "0") + value)
            default:
                let isUpper = self.upperCase & (1 << UInt32(digit)) != 0
                body((isUpper ? UInt8(ascii: "A") : UInt8(ascii: "a")) + value - 10)
            }
        }
    }
}

extension UUIDText: CustomStringConvertible {
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
