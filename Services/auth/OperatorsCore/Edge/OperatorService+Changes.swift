import Contract
import HTTPAccess
import Store

// Changes that operators may make. The change and its record are one transaction.
extension OperatorService {
    func ban(_ body: AdminOperations.Ban, _ call: inout AdminGate.Call) async throws(HTTPRefusal) {
        guard let principal = body.principal else { throw .notOneOfTwoIDs }
        call.event.note = body.reason
        if let end = body.expiresAt, end <= (try await self.now()) {
            throw .invalid(PayloadViolation("expiresAt", "must be in the future"))
        }
        let event = Self.event(of: call, about: principal)
        let isKnown = try await self.stored { () async throws(StoreError) in
            try await self.banning.ban(principal, reason: body.reason, until: body.expiresAt, recording: event)
        }
        guard isKnown else { throw .unknown(principal) }
        call.event = event
        call.isRecorded = true
    }

    func unban(_ body: AdminOperations.Unban, _ call: inout AdminGate.Call) async throws(HTTPRefusal) {
        guard let principal = body.principal else { throw .notOneOfTwoIDs }
        call.event.note = body.reason
        let event = Self.event(of: call, about: principal)
        let isKnown = try await self.stored { () async throws(StoreError) in
            try await self.banning.unban(principal, recording: event)
        }
        guard isKnown else { throw .unknown(principal) }
        call.event = event
        call.isRecorded = true
    }

    /// The event of a change that is made. A refused call names nobody: the person may have been erased.
    private static func event(of call: AdminGate.Call, about principal: PrincipalID) -> AuditEvent {
        var event = call.event
        event.target = "\(principal)"
        return event
    }

    /// - Parameter end: of the ban, if that is the decision; nil for never.
    func review(
        _ report: UUIDText, _ body: AdminOperations.Review, banUntil end: Timestamp? = nil,
        _ call: inout AdminGate.Call
    ) async throws(HTTPRefusal) {
        call.event.target = "\(UUIDText(high: report.high, low: report.low))"
        call.event.note = [body.decision.rawValue, body.note].compactMap { $0 }.joined(separator: ": ")
        let event = call.event
        let isKnown = try await self.stored { () async throws(StoreError) in
            try await self.banning.review(
                report, body.decision, note: body.note, banUntil: end, recording: event)
        }
        guard isKnown else { throw .unknownReport }
        call.isRecorded = true
    }
}
