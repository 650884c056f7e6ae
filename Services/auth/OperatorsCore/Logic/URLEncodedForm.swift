import Contract

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
            guard let name = Self.decoded(parts[0]), let value = parts.count > 1 ? Self.decoded(parts[1]) : "" else {
                return nil
            }
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
        PercentCoding.decode(bytes.map { $0 == UInt8(ascii: "+") ? 0x20 : $0 }, keepingMalformed: true)
    }

    /// An address of this origin with a query. Fields without a value are left out.
    package static func address(_ path: StaticString, _ fields: [(name: StaticString, value: String?)]) -> String {
        let pairs = fields.compactMap { field in field.value.map { "\(field.name)=\(PercentCoding.encode($0))" } }
        return pairs.isEmpty ? path.description : "\(path)?" + pairs.joined(separator: "&")
    }
}
