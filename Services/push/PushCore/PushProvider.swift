package import Logging
import Telemetry

/// Where wake-ups leave the cluster. A provider finds the identity's devices itself; none of it reaches a log or a
/// metric.
package protocol PushProvider: Sendable {
    /// The `provider` label of `whisper_push_total`.
    var name: String { get }

    /// - Throws: the wake-up was not sent. Its Jobs come again.
    func send(_ wakeup: Wakeup) async throws(PushError)
}

package enum PushError: Error, Equatable {
    /// The provider cannot be reached, or asks to slow down. Try again later.
    case unavailable
}

/// Says in the log that somebody would have been woken; not who.
package struct LogProvider: PushProvider {
    package let name = "log"
    private let logger: Logger

    package init(logger: Logger) {
        self.logger = logger
    }

    package func send(_ wakeup: Wakeup) async throws(PushError) {
        self.logger.notice("wakeup sent", [.wakeId: "\(wakeup.wakeID)", .count: .number(wakeup.jobs.count)])
    }
}
