/// One key of the configuration: what reads it from the environment, and what the table of settings says about it.
///
/// A key is written with dots and stands in the environment in capitals: `ops.port` is `OPS_PORT`. An empty value counts
/// as absent.
package struct Setting<Value: Sendable>: Sendable {
    /// The effect of a missing value.
    enum Absence: Sendable {
        /// It does not start. The text says when that is so.
        case refused(needed: String)
        /// As if this had been written.
        case filled(with: String)
        /// The value is nil.
        case left(Value)
    }

    let key: String
    let parser: SettingParser<Value>
    let absence: Absence
    /// One sentence for the person who sets it.
    let meaning: String

    /// - Parameter needed: when it must be given, if that is not always.
    package init(_ key: String, _ parser: SettingParser<Value>, needed: String = "always", _ meaning: String) {
        self.key = key
        self.parser = parser
        self.absence = .refused(needed: needed)
        self.meaning = meaning
    }

    /// - Parameter standard: taken when there is no other; written as in the environment. Secrets have none, ever.
    package init(_ key: String, _ parser: SettingParser<Value>, default standard: String, _ meaning: String) {
        self.key = key
        self.parser = parser
        self.absence = .filled(with: standard)
        self.meaning = meaning
    }

    package init<Wrapped>(optional key: String, _ parser: SettingParser<Wrapped>, _ meaning: String)
    where Value == Wrapped? {
        self.key = key
        self.parser = SettingParser(parser.allowed, isSecret: parser.isSecret) { parser.read($0).map(Optional.some) }
        self.absence = .left(nil)
        self.meaning = meaning
    }
}

/// Settings that belong together. Each stored property is a `Setting` or another group: `Settings` reads what is a property
/// here, and the table lists what is a property here, so nothing can be read that is not listed.
package protocol SettingGroup: Sendable {}

/// Everything one service reads.
package protocol ServiceSettings: SettingGroup {
    var process: ProcessSettings { get }
}
