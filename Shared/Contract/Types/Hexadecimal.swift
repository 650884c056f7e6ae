/// Bytes as lower-case hexadecimal digits.
package enum Hexadecimal {
    private static let digits = Array("0123456789abcdef".utf8)

    /// - Parameter value: below 16.
    static func digit(_ value: UInt8) -> UInt8 { self.digits[Int(value)] }

    /// The value of one lower-case digit.
    static func lowerCaseDigit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        default: nil
        }
    }

    package static func text(_ bytes: [UInt8]) -> String {
        String(decoding: bytes.flatMap { [Self.digits[Int($0 >> 4)], Self.digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    /// - Returns: `nil` if there is anything but pairs of digits. Upper-case ones are taken too.
    package static func bytes(_ text: some StringProtocol) -> [UInt8]? {
        let values = text.compactMap(\.hexDigitValue)
        guard values.count == text.utf8.count, values.count.isMultiple(of: 2) else { return nil }
        return stride(from: 0, to: values.count, by: 2).map { UInt8(values[$0] << 4 | values[$0 + 1]) }
    }
}
