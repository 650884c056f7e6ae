package import Contract

/// A piece of a page. Literals are markup; every interpolated value is text, and is escaped:
/// ```swift
/// let row: HTML = "<td title=\"\(report.id)\">\(report.note)</td>"
/// ```
/// No value can become markup: literals are `StaticString`s, which cannot be made from values.
///
/// Values belong in an element's text or between the double quotes of an attribute. There, the five characters below are
/// all that has a meaning (HTML Standard, 13.1.2.3 and 13.1.4). They never belong in a script, a style, or a whole URL.
package struct HTML: Sendable, ExpressibleByStringInterpolation {
    package private(set) var text: String

    package init(stringLiteral markup: StaticString) { self.text = markup.description }
    package init(stringInterpolation: StringInterpolation) { self.text = stringInterpolation.text }

    package struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var text = ""

        package init(literalCapacity: Int, interpolationCount: Int) {
            self.text.reserveCapacity(literalCapacity + 32 * interpolationCount)
        }

        package mutating func appendLiteral(_ markup: StaticString) { self.text += markup.description }

        // Only the types that pages need. CustomStringConvertible in general would take in arrays of pieces.

        package mutating func appendInterpolation(_ text: some StringProtocol) { self.append(text) }
        package mutating func appendInterpolation(_ number: some BinaryInteger) { self.append(String(number)) }
        package mutating func appendInterpolation(_ id: WhisperID) { self.append(id.description) }
        package mutating func appendInterpolation(_ id: UUIDText) { self.append(id.description) }

        private mutating func append(_ text: some StringProtocol) {
            for character in text.unicodeScalars {
                switch character {
                case "&": self.text += "&amp;"
                case "<": self.text += "&lt;"
                case ">": self.text += "&gt;"
                case "\"": self.text += "&quot;"
                case "'": self.text += "&#39;"
                default: self.text.unicodeScalars.append(character)
                }
            }
        }

        /// Somebody else's words in the midst of a sentence: they change the direction of nothing around them. A character in them
        /// that ends the element's isolation is left out.
        package mutating func appendInterpolation(foreign words: String) {
            self.text += "<bdi>"
            self.append(String(String.UnicodeScalarView(words.unicodeScalars.filter { !$0.properties.isBidiControl })))
            self.text += "</bdi>"
        }

        // Markup, which is not escaped again.

        package mutating func appendInterpolation(_ piece: HTML) { self.text += piece.text }
        package mutating func appendInterpolation(_ piece: HTML?) { self.text += piece?.text ?? "" }
        package mutating func appendInterpolation(_ pieces: [HTML]) { for piece in pieces { self.text += piece.text } }
    }
}
