import Contract
import Logging
import WhisperClient

/// Turns log lines of the client into events `log`, for hosts that asked for them.
struct EventLog: LogHandler {
    var logLevel: Logger.Level
    var metadata = Logger.Metadata()
    var metadataProvider: Logger.MetadataProvider?
    private let tell: @Sendable ([UInt8]) -> Void

    /// - Parameter tell: is called on the client's own queue. It must not block, and not call back.
    init(_ level: CoreConfiguration.LogLevel, tell: @escaping @Sendable ([UInt8]) -> Void) {
        self.logLevel = level.level
        self.tell = tell
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { self.metadata[key] }
        set { self.metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let facts = self.metadata.merging(event.metadata ?? [:]) { _, new in new }
        self.tell(
            EventText.log(
                CoreConfiguration.LogLevel(event.level), "\(event.message)",
                facts.filter { LogFact.all.contains($0.key) }.mapValues { "\($0)" }))
    }
}

extension CoreConfiguration.LogLevel {
    var level: Logger.Level {
        switch self {
        case .debug: .debug
        case .info: .info
        case .notice: .notice
        case .warning: .warning
        case .error: .error
        }
    }

    init(_ level: Logger.Level) {
        switch level {
        case .trace, .debug: self = .debug
        case .info: self = .info
        case .notice: self = .notice
        case .warning: self = .warning
        case .error, .critical: self = .error
        }
    }
}
