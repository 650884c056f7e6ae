package import Configuration
package import Telemetry

/// The process's configuration: each key is read once, checked, and becomes a plain value.
///
/// A key is written with dots and read from the environment in capitals: `ops.port` is `OPS_PORT`. An empty value
/// counts as absent. Values are read as text and checked here, because the reader's own typed calls take the default
/// when a value is malformed.
///
/// A secret may stand in a file instead: `REDIS_PASSWORD_FILE` names it (see `SecretFile`).
package struct Settings: Sendable {
    private let reader: ConfigReader

    package init(_ reader: ConfigReader) {
        self.reader = reader
    }

    /// - Parameter default: nil if the key must be given.
    package func int(
        _ key: String, in range: ClosedRange<Int>, default: Int? = nil
    ) throws(SettingsError) -> Int {
        guard let text = self.text(key) else { return try self.need(`default`, key) }
        guard let value = Int(text), range.contains(value) else {
            throw .invalid(key: key, value: text, allowed: "an integer in \(range.lowerBound)...\(range.upperBound)")
        }
        return value
    }

    package func double(
        _ key: String, in range: ClosedRange<Double>, default: Double? = nil
    ) throws(SettingsError) -> Double {
        guard let text = self.text(key) else { return try self.need(`default`, key) }
        guard let value = Double(text), range.contains(value) else {
            throw .invalid(key: key, value: text, allowed: "a number in \(range.lowerBound)...\(range.upperBound)")
        }
        return value
    }

    package func string(_ key: String, default: String? = nil) throws(SettingsError) -> String {
        guard let text = self.text(key) else { return try self.need(`default`, key) }
        return text
    }

    package func optionalString(_ key: String) -> String? { self.text(key) }

    /// One of the values of a closed set, by its raw value.
    package func choice<C: CaseIterable & RawRepresentable<String>>(
        _ key: String, default: C? = nil
    ) throws(SettingsError) -> C {
        guard let text = self.text(key) else { return try self.need(`default`, key) }
        guard let value = C(rawValue: text) else {
            throw .invalid(
                key: key, value: text, allowed: "one of " + C.allCases.map(\.rawValue).joined(separator: ", "))
        }
        return value
    }

    /// Values between commas, spaces around them ignored. Absent is empty.
    package func list(_ key: String) -> [String] {
        (self.text(key) ?? "").split { $0 == "," || $0.isWhitespace }.map(String.init)
    }

    /// Secrets have no default, ever.
    package func secret(_ key: String) throws(SettingsError) -> Secret {
        try self.need(try self.optionalSecret(key), key)
    }

    /// The value itself, or the contents of the file that `<key>.file` names.
    /// - Throws: `.unreadable` for a file that is named and of no use; `.ambiguous` when both are given.
    package func optionalSecret(_ key: String) throws(SettingsError) -> Secret? {
        let value = self.text(key, isSecret: true)
        guard let path = self.text(key + ".file") else { return value.map { Secret($0) } }
        guard value == nil else { throw .ambiguous(key: key, other: key + ".file") }
        guard let contents = SecretFile(path: path).contents else {
            throw .unreadable(key: key + ".file", path: path)
        }
        return Secret(contents)
    }

    private func need<V>(_ value: V?, _ key: String) throws(SettingsError) -> V {
        guard let value else { throw .missing(key: key) }
        return value
    }

    private func text(_ key: String, isSecret: Bool = false) -> String? {
        let text = self.reader.string(forKey: ConfigKey(key), isSecret: isSecret)
        return text?.isEmpty == true ? nil : text
    }
}

/// Why the configuration is refused. Never holds the value of a secret.
package enum SettingsError: Error, Equatable {
    case missing(key: String)
    case invalid(key: String, value: String, allowed: String)
    /// Two keys give the same value; one must go, or a rotated secret might be the one that is not read.
    case ambiguous(key: String, other: String)
    /// The file of a secret is missing, empty, not text or too large.
    case unreadable(key: String, path: String)
}

extension SettingsError: CustomStringConvertible {
    /// One line for the person who set it.
    package var description: String {
        switch self {
        case .missing(let key):
            "\(Self.variable(key)) must be set"
        case .invalid(let key, let value, let allowed):
            "\(Self.variable(key)) is \"\(value)\", must be \(allowed)"
        case .ambiguous(let key, let other):
            "\(Self.variable(key)) and \(Self.variable(other)) are both set"
        case .unreadable(let key, let path):
            "\(Self.variable(key)): no secret can be read from \(path)"
        }
    }

    /// The environment variable of a key.
    private static func variable(_ key: String) -> String {
        String(key.uppercased().map { $0 == "." ? "_" : $0 })
    }
}
