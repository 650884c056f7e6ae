import Contract
import HTTPAccess
import Store

// Changes that operators may make. The change and its record are one transaction.
extension OperatorService {
    func ban(_ body: AdminOperations.Ban, _ call: inout AdminGate.Call) async throws(HTTPRefusal) {
        guard let principal = body.principal else { throw .notOneOfTwoIDs }
        call.event.target = "\(principal)"
        call.event.note = body.reason
        if let end = body.expiresAt, end <= (try await self.now()) {
            throw .invalid(PayloadViolation("expiresAt", "must be in the future"))
        }
        let event = call.event
        let isKnown = try await self.stored { () async throws(StoreError) in
            try await self.banning.ban(principal, reason: body.reason, until: body.expiresAt, recording: event)
        }
        guard isKnown else { throw .unknown(principal) }
        call.isRecorded = true
    }

    func unban(_ body: AdminOperations.Unban, _ call: inout AdminGate.Call) async throws(HTTPRefusal) {
        guard let principal = body.principal else { throw .notOneOfTwoIDs }
        call.event.target = "\(principal)"
        call.event.note = body.reason
        let event = call.event
        let isKnown = try await self.stored { () async throws(StoreError) in
            try await self.banning.unban(principal, recording: event)
        }
        guard isKnown else { throw .unknown(principal) }
        call.isRecorded = true
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
