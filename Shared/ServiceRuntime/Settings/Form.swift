package import Telemetry

/// How the value of a setting is written, and what it may be.
package struct Form<Value: Sendable>: Sendable {
    /// For the table, and for whoever wrote something else: "an integer in 1...65535".
    let allowed: String
    /// Never shown, and may stand in a file (see `SecretFile`).
    let isSecret: Bool
    /// Nil for what is not allowed.
    package let read: @Sendable (String) -> Value?

    package init(_ allowed: String, isSecret: Bool = false, _ read: @escaping @Sendable (String) -> Value?) {
        self.allowed = allowed
        self.isSecret = isSecret
        self.read = read
    }
}

extension Form<Int> {
    package static func integer(in range: ClosedRange<Int>) -> Form {
        Form("an integer in \(range.lowerBound)...\(range.upperBound)") { Int($0).flatMap { range.contains($0) ? $0 : nil } }
    }

    package static var port: Form { .integer(in: 1...65_535) }
}

extension Form<Double> {
    package static func number(in range: ClosedRange<Double>) -> Form {
        Form("a number in \(range.lowerBound)...\(range.upperBound)") { Double($0).flatMap { range.contains($0) ? $0 : nil } }
    }
}

extension Form<Duration> {
    package static func seconds(in range: ClosedRange<Int>) -> Form {
        let integer = Form<Int>.integer(in: range)
        return Form("\(integer.allowed), in seconds") { integer.read($0).map { .seconds($0) } }
    }
}

extension Form<String> {
    package static var text: Form { Form("text") { $0 } }
    package static var path: Form { Form("a path") { $0 } }
    package static var absolutePath: Form { Form("an absolute path") { $0.hasPrefix("/") ? $0 : nil } }

    /// Text that begins with one of these.
    package static func text(from beginnings: String...) -> Form {
        Form(beginnings.map { $0 + "…" }.joined(separator: " or ")) { text in
            beginnings.contains { text.hasPrefix($0) } ? text : nil
        }
    }
}

extension Form<[String]> {
    /// Values between commas, spaces around them ignored.
    package static var list: Form {
        Form("a list, with commas between") { $0.split { $0 == "," || $0.isWhitespace }.map(String.init) }
    }
}

extension Form<Bool> {
    package static var truth: Form { Form("true or false") { ["true": true, "false": false][$0] } }
}

extension Form<Secret> {
    package static var secret: Form<Secret> { Form("a secret", isSecret: true) { Secret($0) } }

    /// - Parameter charactersMin: shorter ones are refused.
    package static func secret(charactersMin: Int) -> Form<Secret> {
        Form("a secret of at least \(charactersMin) characters", isSecret: true) {
            $0.utf8.count >= charactersMin ? Secret($0) : nil
        }
    }
}

extension Form where Value: CaseIterable & RawRepresentable<String> {
    /// One of a closed set, by its raw value.
    package static var choice: Form {
        Form("one of " + Value.allCases.map(\.rawValue).joined(separator: ", ")) { Value(rawValue: $0) }
    }
}
