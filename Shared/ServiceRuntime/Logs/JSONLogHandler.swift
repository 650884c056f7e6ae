import Contract
package import Logging
import Telemetry

/// Writes each event as one line of JSON:
///
/// `{"time":"2026-01-31T12:00:00.123Z","level":"notice","service":"push","instance":1,"event":"listening","port":8090}`.
///
/// Only facts with a `LogKey` are written. A library that logs something else under a key of its own cannot leak it.
package struct JSONLogHandler: LogHandler {
    package var logLevel: Logger.Level
    package var metadata: Logger.Metadata = [:]
    package var metadataProvider: Logger.MetadataProvider?
    private let service: String
    private let instance: Int
    private let write: @Sendable ([UInt8]) -> Void

    private static let known = Set(LogKey.allCases.map(\.rawValue))

    /// - Parameter write: takes one whole line with its newline; may be called from any thread.
    package init(
        service: String, instance: Int, level: Logger.Level,
        write: @escaping @Sendable ([UInt8]) -> Void = StandardError.write
    ) {
        self.service = service
        self.instance = instance
        self.logLevel = level
        self.write = write
    }

    package subscript(metadataKey key: String) -> Logger.MetadataValue? {
        get { self.metadata[key] }
        set { self.metadata[key] = newValue }
    }

    /// ISO 8601: `2026-01-31T12:00:00.123Z`.
    static func text(of time: Timestamp) -> String {
        let civil = CivilTime(time)
        return "\(civil.date)T\(civil.clock).\(String(1_000 + time.milliseconds % 1_000).dropFirst())Z"
    }

    package func log(event: LogEvent) {
        var line = JSONWriter(capacity: 256)
        line.add("time", Self.text(of: .now))
        line.add("level", event.level.rawValue)
        line.add("service", self.service)
        line.add("instance", Int64(self.instance))
        line.add("event") { Logger.MetadataValue.string(event.message.description).append(to: &$0) }
        for (key, value) in self.facts(of: event) { line.add(key) { value.append(to: &$0) } }
        self.write(line.finished() + [UInt8(ascii: "\n")])
    }

    /// The event's own facts win over the logger's. Sorted, so that equal events are equal lines.
    private func facts(of event: LogEvent) -> [(key: String, value: Logger.MetadataValue)] {
        var facts = self.metadata
        if let provided = self.metadataProvider?.get() { facts.merge(provided) { $1 } }
        if let own = event.metadata { facts.merge(own) { $1 } }
        if let error = event.error { facts[LogKey.error.rawValue] = "\(error)" }
        return facts.filter { Self.known.contains($0.key) }.sorted { $0.key < $1.key }
    }
}
