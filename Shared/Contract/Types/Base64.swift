/// Standard padded base64 (RFC 4648 §4) in its one canonical spelling: no line breaks, no stray bits.
package enum Base64 {
    /// The size that canonical text decodes to, in bytes; `nil` if the text is not canonical base64.
    /// Checks every character without decoding.
    package static func decodedCount(_ text: UnsafeBufferPointer<UInt8>) -> Int? {
        let count = text.count
        guard count % 4 == 0 else { return nil }
        guard count > 0 else { return 0 }
        var padding = 0
        if text[count - 1] == UInt8(ascii: "=") { padding = text[count - 2] == UInt8(ascii: "=") ? 2 : 1 }
        return Self.values.withUnsafeBufferPointer { values in
            var seen: UInt8 = 0
            for index in 0..<count - padding { seen |= values[Int(text[index])] }
            guard seen < 64 else { return nil }
            let last = values[Int(text[count - padding - 1])]
            if padding == 1 && last & 0b11 != 0 { return nil }
            if padding == 2 && last & 0b1111 != 0 { return nil }
            return count / 4 * 3 - padding
        }
    }

    /// - Returns: `nil` if the text is not canonical.
    package static func decode(_ text: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        guard let count = Self.decodedCount(text) else { return nil }
        return [UInt8](unsafeUninitializedCapacity: count) { output, written in
            Self.values.withUnsafeBufferPointer { values in
                var input = 0
                while written < count {
                    // Padding reads as an invalid value; its bits are cut off below.
                    let a = UInt32(values[Int(text[input])])
                    let b = UInt32(values[Int(text[input + 1])])
                    let c = UInt32(values[Int(text[input + 2])] & 63)
                    let d = UInt32(values[Int(text[input + 3])] & 63)
                    let word = a << 18 | b << 12 | c << 6 | d
                    output[written] = UInt8(truncatingIfNeeded: word >> 16)
                    written += 1
                    if written < count {
                        output[written] = UInt8(truncatingIfNeeded: word >> 8)
                        written += 1
                    }
                    if written < count {
                        output[written] = UInt8(truncatingIfNeeded: word)
                        written += 1
                    }
                    input += 4
                }
            }
        }
    }

    package static func decode(_ text: String) -> [UInt8]? {
        var text = text
        return text.withUTF8 { Self.decode($0) }
    }

    package static func text(_ bytes: [UInt8]) -> String { String(decoding: self.encode(bytes), as: UTF8.self) }

    package static func encode<C: Collection<UInt8>>(_ bytes: C) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity((bytes.count + 2) / 3 * 4)
        var word: UInt32 = 0
        var held = 0
        for byte in bytes {
            word = word << 8 | UInt32(byte)
            held += 1
            guard held == 3 else { continue }
            for shift: UInt32 in [18, 12, 6, 0] { output.append(Self.alphabet[Int(word >> shift & 63)]) }
            word = 0
            held = 0
        }
        switch held {
        case 1:
            output.append(Self.alphabet[Int(word >> 2 & 63)])
            output.append(Self.alphabet[Int(word << 4 & 63)])
            output += [UInt8(ascii: "="), UInt8(ascii: "=")]
        case 2:
            output.append(Self.alphabet[Int(word >> 10 & 63)])
            output.append(Self.alphabet[Int(word >> 4 & 63)])
            output.append(Self.alphabet[Int(word << 2 & 63)])
            output.append(UInt8(ascii: "="))
        default: break
        }
        return output
    }

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// The six bits of each character; 255 for what is not in the alphabet.
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: 255, count: 256)
        for (value, symbol) in Self.alphabet.enumerated() { values[Int(symbol)] = UInt8(value) }
        return values
    }()
}
