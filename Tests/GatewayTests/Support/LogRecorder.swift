import Logging
import Synchronization

/// Keeps what is logged.
final class LogRecorder: Sendable {
    struct Line: Sendable {
        var event: String
        var facts: [String: String]
    }

    private let kept = Mutex<[Line]>([])

    var lines: [Line] { self.kept.withLock { $0 } }

    var logger: Logger {
        Logger(label: "test", factory: { _ in Handler(recorder: self) })
    }

    private struct Handler: LogHandler {
        let recorder: LogRecorder
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.info

        subscript(metadataKey key: String) -> Logger.MetadataValue? {
            get { self.metadata[key] }
            set { self.metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let facts = (event.metadata ?? [:]).mapValues { "\($0)" }
            self.recorder.kept.withLock { $0.append(Line(event: "\(event.message)", facts: facts)) }
        }
    }
}
