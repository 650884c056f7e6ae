import Contract
import HTTPAccess
import Hummingbird
import Store

// What operators may change. The change and its record are one transaction.
extension AdminRoutes {
    func ban(_ call: inout Call) async throws(HTTPRefusal) -> [UInt8] {
        let body = try await call.body(AdminOperations.ban)
        let identity = body.whisperID(body.schema.index(of: "whisperId")!)
        let reason = body.text(body.schema.index(of: "reason")!)
        let place = body.schema.index(of: "expiresAt")!
        let end: Timestamp? = body.has(place) ? body.timestamp(place) : nil
        call.event.target = "\(identity)"
        call.event.note = reason
        if let end, end <= self.clock() { throw .invalid(PayloadViolation("expiresAt", "must be in the future")) }
        let event = call.event
        let isKnown = try await self.stored { () async throws(StoreError) in
            try await self.banning.ban(identity, reason: reason, until: end, recording: event)
        }
        guard isKnown else { throw .unknownIdentity }
        call.isRecorded = true
        return AdminAnswers.success
    }

    func unban(_ call: inout Call) async throws(HTTPRefusal) -> [UInt8] {
        let body = try await call.body(AdminOperations.unban)
        let identity = body.whisperID(body.schema.index(of: "whisperId")!)
        call.event.target = "\(identity)"
        call.event.note = body.text(body.schema.index(of: "reason")!)
        let event = call.event
        let isKnown = try await self.stored { () async throws(StoreError) in
            try await self.banning.unban(identity, recording: event)
        }
        guard isKnown else { throw .unknownIdentity }
        call.isRecorded = true
        return AdminAnswers.success
    }

    func review(_ call: inout Call) async throws(HTTPRefusal) -> [UInt8] {
        guard let id = call.parameters.get("id").flatMap({ UUIDText($0) }) else { throw .badParameter("id") }
        call.event.target = "\(UUIDText(high: id.high, low: id.low))"
        let body = try await call.body(AdminOperations.review)
        let place = body.schema.index(of: "note")!
        let note = body.has(place) ? body.text(place) : nil
        // The schema knows no other words.
        let decision = AdminOperations.Decision(rawValue: body.text(body.schema.index(of: "decision")!))!
        call.event.note = [decision.rawValue, note].compactMap { $0 }.joined(separator: ": ")
        let event = call.event
        let isKnown = try await self.stored { () async throws(StoreError) in
            try await self.banning.review(id, decision, note: note, recording: event)
        }
        guard isKnown else { throw .unknownReport }
        call.isRecorded = true
        return AdminAnswers.success
    }
}

extension AdminRoutes.Call {
    fileprivate func body(_ schema: ObjectSchema) async throws(HTTPRefusal) -> Payload {
        try await JSONBody.payload(of: self.request, schema, bytesMax: AuthLimits.adminBodyBytesMax)
    }
}
