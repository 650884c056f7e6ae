import Contract
import WhisperClient

extension Verb {
    private static let callID = TypedField.uuid("callId", about: "As `callStarted` or `callIncoming` had it.")

    static let callHold = Verb(
        "call_hold", of: "calls",
        about:
            "After `call_start`, or before `call_answer`: when this program has gone, the core ends the call. It lasts as long as the call. `busy`: another program holds it.",
        [Self.callID.field], type: "held", [Field("callId", .uuid)],
        errors: [.noIdentity, .notFound, .busy, .tooMany, .unsupported],
        samples: (
            #"{"callId":"c1d2e3f4-0f7c-4e51-9d0c-3c7d1d2b7a10"}"#,
            #"{"type":"held","callId":"c1d2e3f4-0f7c-4e51-9d0c-3c7d1d2b7a10"}"#
        ),
        .program { program, opened, parameters, json in
            let wanted = try parameters[Self.callID]
            let call = await opened.with { $0.calls[wanted] }
            guard let call else { throw CoreError(.notFound, field: "callId") }
            try await program.hold(.call(call.id)) { false }
            json.add("callId", call.id)
        })
}
