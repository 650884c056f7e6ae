/// The digits that open a room (contract §15.3).
package struct JoinCode: Hashable, Sendable {
    /// 6, 8 or 10 digits.
    package let text: String

    /// Reads the shown form exactly.
    package init?<C: Collection<UInt8>>(ascii text: C) {
        guard RoomLimits.codeDigits.contains(Int64(text.count)),
            text.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        self.text = String(decoding: Array(text), as: UTF8.self)
    }

    package init?(_ text: String) { self.init(ascii: text.utf8) }

    package var digits: Int { self.text.utf8.count }
}
