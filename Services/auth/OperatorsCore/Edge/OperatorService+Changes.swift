import Contract
import HTTPAccess
import Store

// What operators may change. The change and its record are one transaction.
extension OperatorService {
    /// - Parameter body: of `AdminOperations.ban`.
    func ban(_ body: Payload, _ call: inout AdminGate.Call) async throws(HTTPRefusal) {
        let identity = body.whisperID(body.schema.index(of: "whisperId")!)
        let reason = body.text(body.schema.index(of: "reason")!)
        let place = body.schema.index(of: "expiresAt")!
        let end: Timestamp? = body.has(place) ? body.timestamp(place) : nil
        call.event.target = "\(identity)"
        call.event.note = reason
        if let end, end <= (try await self.now()) { throw .invalid(PayloadViolation("expiresAt", "must be in the future")) }
        let event = call.event
        let isKnown = try await self.stored { () async throws(StoreError) in
            try await self.banning.ban(identity, reason: reason, until: end, recording: event)
        }
        guard isKnown else { throw .unknownIdentity }
        call.isRecorded = true
    }

    /// - Parameter body: of `AdminOperations.unban`.
    func unban(_ body: Payload, _ call: inout AdminGate.Call) async throws(HTTPRefusal) {
        let identity = body.whisperID(body.schema.index(of: "whisperId")!)
        call.event.target = "\(identity)"
        call.event.note = body.text(body.schema.index(of: "reason")!)
        let event = call.event
        let isKnown = try await self.stored { () async throws(StoreError) in
            try await self.banning.unban(identity, recording: event)
        }
        guard isKnown else { throw .unknownIdentity }
        call.isRecorded = true
    }

    /// - Parameters:
    ///   - body: of `AdminOperations.review`.
    ///   - end: of the ban, if that is the decision; nil for never.
    func review(
        _ report: UUIDText, _ body: Payload, banUntil end: Timestamp? = nil, _ call: inout AdminGate.Call
    ) async throws(HTTPRefusal) {
        let place = body.schema.index(of: "note")!
        let note = body.has(place) ? body.text(place) : nil
        // The schema has refused every other word.
        let decision = AdminOperations.Decision(rawValue: body.text(body.schema.index(of: "decision")!))!
        call.event.target = "\(UUIDText(high: report.high, low: report.low))"
        call.event.note = [decision.rawValue, note].compactMap { $0 }.joined(separator: ": ")
        let event = call.event
        let isKnown = try await self.stored { () async throws(StoreError) in
            try await self.banning.review(report, decision, note: note, banUntil: end, recording: event)
        }
        guard isKnown else { throw .unknownReport }
        call.isRecorded = true
    }
}
