package import Telemetry

/// Parses the text of a setting and says which values are allowed.
package struct SettingParser<Value: Sendable>: Sendable {
    /// For the table of settings and for error messages: "an integer in 1...65535".
    let allowed: String
    /// Never shown, and may be given in a file (see `SecretFile`).
    let isSecret: Bool
    /// Returns nil for a value that is not allowed.
    package let read: @Sendable (String) -> Value?

    package init(_ allowed: String, isSecret: Bool = false, _ read: @escaping @Sendable (String) -> Value?) {
        self.allowed = allowed
        self.isSecret = isSecret
        self.read = read
    }
}

extension SettingParser<Int> {
    package static func integer(in range: ClosedRange<Int>) -> SettingParser {
        SettingParser("an integer in \(range.lowerBound)...\(range.upperBound)") {
            Int($0).flatMap { range.contains($0) ? $0 : nil }
        }
    }

    package static var port: SettingParser { .integer(in: 1...65_535) }
}

extension SettingParser<Double> {
    package static func number(in range: ClosedRange<Double>) -> SettingParser {
        SettingParser("a number in \(range.lowerBound)...\(range.upperBound)") {
            Double($0).flatMap { range.contains($0) ? $0 : nil }
        }
    }
}

extension SettingParser<Duration> {
    package static func seconds(in range: ClosedRange<Int>) -> SettingParser {
        let integer = SettingParser<Int>.integer(in: range)
        return SettingParser("\(integer.allowed), in seconds") { integer.read($0).map { .seconds($0) } }
    }

    package static func days(in range: ClosedRange<Int>) -> SettingParser {
        let integer = SettingParser<Int>.integer(in: range)
        return SettingParser("\(integer.allowed), in days") { integer.read($0).map { .seconds($0 * 86_400) } }
    }
}

extension SettingParser<String> {
    package static var text: SettingParser { SettingParser("text") { $0 } }
    package static var path: SettingParser { SettingParser("a path") { $0 } }
    package static var absolutePath: SettingParser {
        SettingParser("an absolute path") { $0.hasPrefix("/") ? $0 : nil }
    }

    /// Text that begins with one of these.
    package static func text(from beginnings: String...) -> SettingParser {
        SettingParser(beginnings.map { $0 + "…" }.joined(separator: " or ")) { text in
            beginnings.contains { text.hasPrefix($0) } ? text : nil
        }
    }
}

extension SettingParser<[String]> {
    /// Values between commas, spaces around them ignored.
    package static var list: SettingParser {
        SettingParser("a list, with commas between") { $0.split { $0 == "," || $0.isWhitespace }.map(String.init) }
    }
}

extension SettingParser<Bool> {
    package static var truth: SettingParser { SettingParser("true or false") { ["true": true, "false": false][$0] } }
}

extension SettingParser<Secret> {
    package static var secret: SettingParser<Secret> { SettingParser("a secret", isSecret: true) { Secret($0) } }

    /// - Parameter charactersMin: shorter ones are refused.
    package static func secret(charactersMin: Int) -> SettingParser<Secret> {
        SettingParser("a secret of at least \(charactersMin) characters", isSecret: true) {
            $0.utf8.count >= charactersMin ? Secret($0) : nil
        }
    }
}

extension SettingParser where Value: CaseIterable & RawRepresentable<String> {
    /// One of a closed set, by its raw value.
    package static var choice: SettingParser {
        SettingParser("one of " + Value.allCases.map(\.rawValue).joined(separator: ", ")) { Value(rawValue: $0) }
    }
}
