/// The fields of an HTML form, as a body or as the query of an address.
///
/// The format is application/x-www-form-urlencoded (WHATWG URL Standard, 5.1 and 5.2).
package struct URLEncodedForm: Equatable, Sendable {
    private var fields: [String: String] = [:]

    /// Reads fields. A `%` that begins no byte stands for itself; of fields with one name the first counts.
    /// - Returns: nil if the bytes are not UTF-8.
    package init?(_ bytes: some Collection<UInt8>) {
        for pair in bytes.split(separator: UInt8(ascii: "&")) {
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = Self.decoded(parts[0]), let value = parts.count > 1 ? Self.decoded(parts[1]) : "" else { return nil }
            if self.fields[name] == nil { self.fields[name] = value }
        }
    }

    package subscript(_ name: String) -> String? { self.fields[name] }

    /// The field without blanks around it; nil if nothing is left. Browsers send fields that nobody filled in as empty.
    package func filled(_ name: String) -> String? {
        guard let value = self.fields[name] else { return nil }
        let blanks: Set<UInt8> = [0x20, 0x09, 0x0A, 0x0D]
        let begun = value.utf8.drop { blanks.contains($0) }
        guard let last = begun.lastIndex(where: { !blanks.contains($0) }) else { return nil }
        return String(Substring(begun[...last]))
    }

    private static func decoded(_ bytes: some Collection<UInt8>) -> String? {
        let bytes = Array(bytes)
        var decoded: [UInt8] = []
        decoded.reserveCapacity(bytes.count)
        var place = 0
        while place < bytes.count {
            switch bytes[place] {
            case UInt8(ascii: "+"): decoded.append(0x20)
            case UInt8(ascii: "%"):
                if place + 2 < bytes.count, let high = Self.digit(bytes[place + 1]), let low = Self.digit(bytes[place + 2]) {
                    decoded.append(high << 4 | low)
                    place += 2
                } else {
                    decoded.append(bytes[place])
                }
            case let byte: decoded.append(byte)
            }
            place += 1
        }
        return String(validating: decoded, as: UTF8.self)
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        default: nil
        }
    }

    /// An address of this origin with a query. Fields without a value are left out.
    package static func address(_ path: StaticString, _ fields: [(name: StaticString, value: String?)]) -> String {
        let pairs = fields.compactMap { field in field.value.map { "\(field.name)=\(Self.encoded($0))" } }
        return pairs.isEmpty ? path.description : "\(path)?" + pairs.joined(separator: "&")
    }

    private static func encoded(_ text: String) -> String {
        var encoded = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                encoded += byte < 16 ? "%0" : "%"
                encoded += String(byte, radix: 16, uppercase: true)
            }
        }
        return encoded
    }
}
