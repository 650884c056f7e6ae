package import Bus
package import ClusterContract
package import Contract
package import Logging
package import Store
import Telemetry

/// Lets operators in, on the ops listener of any service (contract §10).
///
/// Every call is counted by role, and recorded. A call that cannot be counted or recorded fails.
package struct AdminGate: Sendable {
    /// The error of a record that was not written.
    package typealias Failure = StoreError
    package typealias Record = @Sendable (AuditEvent) async throws(Failure) -> Void

    private let keys: any KeyBus
    private let rates: RateTable
    private let record: Record
    private let logger: Logger

    /// - Parameter record: adds an event to the audit log.
    package init(keys: any KeyBus, rates: RateTable, logger: Logger, record: @escaping Record) {
        self.keys = keys
        self.rates = rates
        self.record = record
        self.logger = logger
    }

    /// A call under way.
    package struct Call: Sendable {
        /// The event to record. The code that serves the call adds its target and a note.
        package var event: AuditEvent
        /// Set by whoever has recorded the event already, in the transaction of its change.
        package var isRecorded = false
    }

    /// Does what an operator asks.
    /// - Parameters:
    ///   - action: the operation's name, as it is recorded.
    ///   - least: the role that it takes.
    ///   - role: of whoever asks; nil for nobody.
    package func serve<Outcome>(
        _ action: String, _ least: AdminRole, as role: AdminRole?,
        _ body: (inout Call) async throws(HTTPRefusal) -> Outcome
    ) async throws(HTTPRefusal) -> Outcome {
        let actor = AuditEvent.Actor(role)
        try await self.admit(actor, within: Rates.admin)
        var call = Call(event: AuditEvent(actor, action))
        let outcome: Outcome
        do throws(HTTPRefusal) {
            guard let role else { throw .noAdminToken }
            guard role >= least else { throw .roleTooLow }
            outcome = try await body(&call)
        } catch {
            call.event.result = error.code.rawValue
            try await self.add(call.event)
            throw error
        }
        if !call.isRecorded { try await self.add(call.event) }
        return outcome
    }

    /// Without Redis nobody can be counted, and nobody is let in.
    /// - Parameter rate: counted for the role.
    package func admit(_ actor: AuditEvent.Actor, within rate: Rate) async throws(HTTPRefusal) {
        let wait: Int64?
        do throws(BusError) {
            wait = try await self.keys.admit(
                Keyspace.rateLimit(rate, actor.rawValue), self.rates.allowance(of: rate))
        } catch {
            self.logger.warning("admin call not counted", [.error: "\(error)"])
            throw .internalError
        }
        if let wait { throw .tooMany(retryAfterMilliseconds: wait) }
    }

    private func add(_ event: AuditEvent) async throws(HTTPRefusal) {
        do throws(StoreError) {
            try await self.record(event)
        } catch {
            if error.isPassing {
                self.logger.warning("admin call not recorded", [.error: "\(error)"])
            } else {
                self.logger.error("admin call not recorded", [.error: "\(error)"])
            }
            throw .internalError
        }
    }
}
