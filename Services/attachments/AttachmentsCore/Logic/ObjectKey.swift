package import Contract

/// The name of an object: `att/YYYY/MM/{uuid}.bin`, the uuid in lower case (contract §9).
package struct ObjectKey: Hashable, Sendable, CustomStringConvertible {
    package let description: String

    /// The key of a new object.
    package init(_ id: UUIDText, at now: Timestamp) {
        let time = CivilTime(now)
        self.description =
            "att/\(time.year)/\(CivilTime.twoDigits(time.month))/\(UUIDText(high: id.high, low: id.low)).bin"
    }

    /// - Returns: nil if no object can have this key.
    package init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 4, parts[0] == "att", Self.isNumber(parts[1], digits: 4),
            Self.isNumber(parts[2], digits: 2),
            parts[3].hasSuffix(".bin"), let id = UUIDText(String(parts[3].dropLast(4))), id.upperCase == 0
        else { return nil }
        self.description = String(text)
    }

    /// The last part, without its ending.
    package var id: String { String(self.description.dropLast(4).suffix(UUIDText.textLength)) }

    private static func isNumber(_ text: some StringProtocol, digits: Int) -> Bool {
        text.utf8.count == digits && text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }
}
