package import Logging

/// The facts of a log line beside its constant text.
package typealias Facts = [LogKey: Logger.MetadataValue]

extension Logger {
    /// A fact that stands on every later line of this logger: `logger[.node] = "\(node)"`.
    package subscript(key: LogKey) -> Logger.MetadataValue? {
        get { self[metadataKey: key.rawValue] }
        set { self[metadataKey: key.rawValue] = newValue }
    }

    /// An event of one request.
    package func debug(_ event: StaticString, _ facts: @autoclosure () -> Facts) {
        self.write(.debug, event, facts)
    }

    /// An event of the process: started, connected, drained.
    package func notice(_ event: StaticString, _ facts: @autoclosure () -> Facts) {
        self.write(.notice, event, facts)
    }

    /// Something went wrong and heals by itself.
    package func warning(_ event: StaticString, _ facts: @autoclosure () -> Facts) {
        self.write(.warning, event, facts)
    }

    /// A person must act.
    package func error(_ event: StaticString, _ facts: @autoclosure () -> Facts) {
        self.write(.error, event, facts)
    }

    /// The process ends because of it.
    package func critical(_ event: StaticString, _ facts: @autoclosure () -> Facts) {
        self.write(.critical, event, facts)
    }

    /// Costs one comparison when `level` is off: the facts are not built.
    private func write(_ level: Logger.Level, _ event: StaticString, _ facts: () -> Facts) {
        guard self.logLevel <= level else { return }
        var metadata = Logger.Metadata()
        for (key, value) in facts() { metadata[key.rawValue] = value }
        self.log(level: level, "\(event)", metadata: metadata)
    }
}

extension Logger.MetadataValue {
    /// An integer, written without quotes.
    package static func number(_ value: some FixedWidthInteger) -> Logger.MetadataValue {
        .stringConvertible(Int64(clamping: value))
    }
}
