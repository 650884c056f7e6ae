import Contract
import HTTPAccess
import Store

// Changes that operators may make. The change and its record are one transaction.
extension OperatorService {
    func ban(_ body: AdminOperations.Ban, _ call: inout AdminGate.Call) async throws(HTTPRefusal) {
        guard let principal = body.principal else { throw .notOneOfTwoIDs }
        call.event.note = body.reason
        try await self.checkEnd(body.expiresAt)
        let event = Self.event(of: call, about: principal)
        let isKnown = try await self.stored { () async throws(StoreError) in
            try await self.banning.ban(principal, reason: body.reason, until: body.expiresAt, recording: event)
        }
        guard isKnown else { throw .unknown(principal) }
        call.event = event
        call.isRecorded = true
    }

    private func checkEnd(_ end: Timestamp?) async throws(HTTPRefusal) {
        guard let end, end <= (try await self.now()) else { return }
        throw .invalid(PayloadViolation("expiresAt", "must be in the future"))
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

    func review(
        _ report: UUIDText, _ body: AdminOperations.Review, _ call: inout AdminGate.Call
    ) async throws(HTTPRefusal) {
        call.event.target = "\(UUIDText(high: report.high, low: report.low))"
        call.event.note = [body.decision.rawValue, body.note].compactMap { $0 }.joined(separator: ": ")
        try await self.checkEnd(body.expiresAt)
        let event = call.event
        let isKnown = try await self.stored { () async throws(StoreError) in
            try await self.banning.review(
                report, body.decision, note: body.note, banUntil: body.expiresAt, recording: event)
        }
        guard isKnown else { throw .unknownReport }
        call.isRecorded = true
    }
}
