/// The name of a class of rates (contract §20.7): small letters, digits and hyphens.
package struct RateClassName: Hashable, Sendable, CustomStringConvertible {
    package let description: String

    /// The word for no class, where operators type one.
    package static let none = "none"

    package init?(_ text: String) {
        let isName = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"): true
            default: false
            }
        }
        guard isName, Limits.rateClassCharacters.contains(text.utf8.count), text != Self.none else { return nil }
        self.description = text
    }
}
