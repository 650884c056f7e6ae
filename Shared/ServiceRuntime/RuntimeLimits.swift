/// The bounds every service process keeps to.
package enum RuntimeLimits {
    /// Time that the parts of a process have to drain after SIGTERM before they are cancelled, unless its `Composition` says
    /// otherwise.
    package static let drainMax = Duration.seconds(10)
    /// Time that cancelled parts have to end before the process exits without them.
    package static let cancellationMax = Duration.seconds(3)
    /// Time one readiness check has to answer before it counts as failed.
    package static let readinessCheckMax = Duration.seconds(1)
    /// How long the yes of a check that asks another server is believed. So late an outage takes the process out of the balancer.
    package static let readinessKept = Duration.seconds(5)
    /// Open connections of the ops listener; further ones wait in the backlog.
    package static let opsConnectionsMax = 64
    /// Open connections of a public HTTP listener; further ones wait in the backlog.
    package static let httpConnectionsMax = 4_096
    /// A connection without a request for this long is closed. Longer than the balancer keeps its idle ones.
    package static let httpIdleSeconds: Int64 = 75
    /// Header bytes of one request.
    package static let httpHeaderBytesMax = 16 * 1_024
    /// Between two times that memory which nobody uses is given back. Short beside a day's load, long beside the work.
    package static let heapTrimEvery = Duration.seconds(30)
    /// Series of all metrics together; further ones count into nothing.
    package static let seriesMax = 2_000
    /// Bytes of one string in a log line; the rest is cut off.
    package static let logValueBytesMax = 2_048
}
