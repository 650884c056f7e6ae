/// Text from others without what a terminal would obey: control characters (escape sequences start with one) and marks
/// that turn the direction of writing. Line feeds stay.
package func harmless(_ text: String) -> String {
    replaced(text) { $0 == 0x0A }
}

/// The same for text that stands in a line of a list. Without line feeds it cannot look like another entry.
package func harmlessLine(_ text: String) -> String {
    replaced(text) { _ in false }
}

private func replaced(_ text: String, keeping isKept: (UInt32) -> Bool) -> String {
    var shown = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
        switch scalar.value {
        case let value where isKept(value): shown.append(scalar)
        case 0x09: shown.append(" ")
        // They show nothing, and turn what stands beside them.
        case 0x200E, 0x200F, 0x061C: break
        // Controls; embeddings, overrides and isolates of the bidirectional algorithm (UAX #9); line separators.
        case 0..<0x20, 0x7F..<0xA0, 0x202A...0x202E, 0x2066...0x2069, 0x2028, 0x2029: shown.append("\u{FFFD}")
        default: shown.append(scalar)
        }
    }
    return String(shown)
}

/// JSON for a terminal: the same values, but nothing raw that a terminal would obey.
package func harmlessJSON(_ json: String) -> String {
    var shown = String.UnicodeScalarView()
    for scalar in json.unicodeScalars {
        switch scalar.value {
        case 0x09, 0x0A: shown.append(scalar)
        case 0..<0x20, 0x7F..<0xA0, 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069:
            let digits = String(scalar.value, radix: 16)
            shown.append(contentsOf: "\\u\(String(repeating: "0", count: 4 - digits.count))\(digits)".unicodeScalars)
        default: shown.append(scalar)
        }
    }
    return String(shown)
}
