package import Configuration
import Telemetry

/// The process's configuration: each key is read once, checked, and becomes a plain value.
///
/// ```swift
/// struct CallsSettings: ServiceSettings {
///     let process = ProcessSettings()
///     let ringTime = Setting("call.ring.seconds", .seconds(in: 1...120), default: "45", "How long a call rings.")
/// }
/// let ringTime = try settings.ringTime  // a Duration
/// ```
/// Values are read as text and checked here, because the reader's own typed calls take the default when a value is malformed.
@dynamicMemberLookup
package struct Settings<Group: SettingGroup>: Sendable {
    private let group: Group
    private let reader: ConfigReader

    package init(_ group: Group, from reader: ConfigReader) {
        self.group = group
        self.reader = reader
    }

    package subscript<Value>(dynamicMember path: KeyPath<Group, Setting<Value>>) -> Value {
        get throws(SettingsError) { try self.value(of: self.group[keyPath: path]) }
    }

    package subscript<Inner: SettingGroup>(dynamicMember path: KeyPath<Group, Inner>) -> Settings<Inner> {
        Settings<Inner>(self.group[keyPath: path], from: self.reader)
    }

    private func value<Value>(of setting: Setting<Value>) throws(SettingsError) -> Value {
        let text: String
        switch (try self.text(of: setting), setting.absence) {
        case (let given?, _): text = given
        case (nil, .filled(let standard)): text = standard
        case (nil, .left(let value)): return value
        case (nil, .refused): throw .missing(key: setting.key)
        }
        guard let value = setting.parser.read(text) else {
            throw .invalid(
                key: setting.key, value: setting.parser.isSecret ? "***" : text, allowed: setting.parser.allowed)
        }
        return value
    }

    /// For a secret: the value itself, or the contents of the file that `<key>.file` names.
    private func text<Value>(of setting: Setting<Value>) throws(SettingsError) -> String? {
        let text = self.text(setting.key, isSecret: setting.parser.isSecret)
        guard setting.parser.isSecret, let path = self.text(setting.key + ".file") else { return text }
        guard text == nil else { throw .ambiguous(key: setting.key, other: setting.key + ".file") }
        guard let contents = SecretFile(path: path).contents else {
            throw .unreadable(key: setting.key + ".file", path: path)
        }
        return contents
    }

    private func text(_ key: String, isSecret: Bool = false) -> String? {
        let text = self.reader.string(forKey: ConfigKey(key), isSecret: isSecret)
        return text?.isEmpty == true ? nil : text
    }
}

// Settings that are right one by one and wrong together: a process that is told them does not start.
extension Settings {
    /// Refuses a setting that is above another one.
    package func require<Value: Comparable>(
        _ path: KeyPath<Group, Setting<Value>>, atMost other: KeyPath<Group, Setting<Value>>
    ) throws(SettingsError) {
        guard try self[dynamicMember: path] > self[dynamicMember: other] else { return }
        throw try self.conflict(path, .atMost, other)
    }

    /// Refuses a setting that is not below another one.
    package func require<Value: Comparable>(
        _ path: KeyPath<Group, Setting<Value>>, below other: KeyPath<Group, Setting<Value>>
    ) throws(SettingsError) {
        guard try self[dynamicMember: path] >= self[dynamicMember: other] else { return }
        throw try self.conflict(path, .below, other)
    }

    /// Refuses a time that is not longer than this one, which another setting may make shorter.
    package func require(
        _ path: KeyPath<Group, Setting<Duration>>, above least: Duration, times other: KeyPath<Group, Setting<Double>>
    ) throws(SettingsError) {
        guard try self[dynamicMember: path] <= least * min(1, self[dynamicMember: other]) else { return }
        throw try self.conflict(path, .above(seconds: least.components.seconds), other)
    }

    private func conflict<Value, Other>(
        _ path: KeyPath<Group, Setting<Value>>, _ relation: SettingsError.Relation,
        _ other: KeyPath<Group, Setting<Other>>
    ) throws(SettingsError) -> SettingsError {
        let (first, second) = (self.group[keyPath: path], self.group[keyPath: other])
        return .conflicting(
            key: first.key, value: try self.written(first), relation, other: second.key,
            otherValue: try self.written(second))
    }

    /// As it stands in the environment, or would.
    private func written<Value>(_ setting: Setting<Value>) throws(SettingsError) -> String {
        if setting.parser.isSecret { return "***" }
        switch (try self.text(of: setting), setting.absence) {
        case (let given?, _): return given
        case (nil, .filled(let standard)): return standard
        case (nil, .left), (nil, .refused): return ""
        }
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
    /// Each value is allowed, and not both together.
    case conflicting(key: String, value: String, Relation, other: String, otherValue: String)

    /// The required relation of a setting to another.
    package enum Relation: Equatable, Sendable {
        case atMost
        case below
        /// More than so many seconds, multiplied by the other one.
        case above(seconds: Int64)

        fileprivate var text: String {
            switch self {
            case .atMost: "at most"
            case .below: "less than"
            case .above(let seconds): "more than \(seconds) s times"
            }
        }
    }
}

extension SettingsError: CustomStringConvertible {
    /// One line for the person who set it.
    package var description: String {
        switch self {
        case .missing(let key):
            "\(variable(key)) must be set"
        case .invalid(let key, let value, let allowed):
            "\(variable(key)) is \"\(value)\", must be \(allowed)"
        case .ambiguous(let key, let other):
            "\(variable(key)) and \(variable(other)) are both set"
        case .unreadable(let key, let path):
            "\(variable(key)): no secret can be read from \(path)"
        case .conflicting(let key, let value, let relation, let other, let otherValue):
            "\(variable(key)) is \"\(value)\", must be \(relation.text) \(variable(other)), "
                + "which is \"\(otherValue)\": change one of them"
        }
    }
}

/// The environment variable of a key.
func variable(_ key: String) -> String {
    String(key.uppercased().map { $0 == "." ? "_" : $0 })
}
