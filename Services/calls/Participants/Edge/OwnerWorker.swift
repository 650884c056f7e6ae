package import Bus
package import ClusterContract
import Contract
package import Jobs
package import Logging
package import Store
import Telemetry

extension PartitionWorker {
    /// The worker of an owner of this service, with its bounds.
    package convenience init(
        bus: any Bus, store: PostgresConnection, leases: Leases, leaseInterval: Duration, logger: Logger
    ) {
        self.init(
            process: .random(), bus: bus, store: store, leases: leases,
            bounds: .init(
                leaseInterval: leaseInterval, readBlockMax: min(OwnerLimits.readBlockMax, leaseInterval),
                idleInterval: min(OwnerLimits.idleInterval, leaseInterval * 2), idleAfter: OwnerLimits.idleAfter,
                retryPause: OwnerLimits.retryPause, poisonIsolationReads: OwnerLimits.poisonIsolationReads),
            logger: logger)
    }
}

/// Counts and logs refusals that gateways are told.
package struct AnswerLog: Sendable {
    private let errors = ErrorMetrics()
    private let logger: Logger

    package init(_ logger: Logger) { self.logger = logger }

    package func answered(_ address: AnswerAddress, _ answer: Answer) {
        if case .refused(let refusal) = answer {
            self.errors.answered(refusal.code)
            if refusal.code == .internalError {
                self.logger.error(
                    "question not answered", [.trace: "\(address.trace)", .error: "\(refusal.message)"])
            }
        }
        self.logger.debug("question handled", [.trace: "\(address.trace)"])
    }

    /// The database refuses a Job, and always will. It must not stop the Jobs behind it. Its client gets INTERNAL_ERROR.
    /// - Parameter asked: where the answer to its question would go.
    package func gaveUp(_ asked: AnswerAddress?, state: String, message: String) {
        self.logger.error(
            "job given up",
            [.trace: "\(asked.map { "\($0.trace)" } ?? "")", .code: "\(state)", .error: "\(message)"])
    }
}
