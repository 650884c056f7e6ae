import Logging
import Telemetry

/// Writes the log of a process of the cluster to the trace.
struct TraceLog: LogHandler {
    let host: Host
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.debug

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { self.metadata[key] }
        set { self.metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let facts = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
        World.current.trace("\(self.host.isDead ? "(dead) " : "")\(self.host.name): \(event.message)\(facts)")
    }
}
