/// Percent-encoding of everything but unreserved characters, in upper case (RFC 3986 §2.1, §2.3). AWS signs URLs in this form
/// (Amazon S3 API Reference, "Signature Calculations").
package enum PercentCoding {
    private static let digits = Array("0123456789ABCDEF".utf8)

    /// - Parameter keepingSlashes: for paths.
    package static func encode(_ text: some StringProtocol, keepingSlashes: Bool = false) -> String {
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."),
                UInt8(ascii: "~"):
                bytes.append(byte)
            case UInt8(ascii: "/") where keepingSlashes: bytes.append(byte)
            default: bytes += [UInt8(ascii: "%"), Self.digits[Int(byte >> 4)], Self.digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// - Parameter keepingMalformed: a `%` without two hexadecimal digits stands for itself (WHATWG URL Standard, 1.3).
    /// - Returns: nil if a `%` is malformed and not kept, or the bytes are not UTF-8.
    package static func decode(_ text: some Collection<UInt8>, keepingMalformed: Bool = false) -> String? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var rest = Array(text)[...]
        while let byte = rest.popFirst() {
            if byte != UInt8(ascii: "%") {
                bytes.append(byte)
            } else if rest.count >= 2, let high = Self.value(rest[rest.startIndex]),
                let low = Self.value(rest[rest.startIndex + 1])
            {
                bytes.append(high << 4 | low)
                rest.removeFirst(2)
            } else if keepingMalformed {
                bytes.append(byte)
            } else {
                return nil
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func value(_ digit: UInt8) -> UInt8? {
        Character(UnicodeScalar(digit)).hexDigitValue.map { UInt8($0) }
    }
}
