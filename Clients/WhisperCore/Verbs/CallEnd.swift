import Contract
import WhisperClient

extension Verb {
    private static let callID = TypedField.uuid("callId")
    private static let reason = TypedField.word(
        "reason", of: PeerCalls.EndReason.allCases.map(\.rawValue),
        about: "Default: `cancelled` or `declined` before an answer, `ended` after it."
    ).optional

    static let callEnd = Verb(
        "call_end", of: "calls", about: "Ends a call, cancels it, or declines it.",
        [Self.callID.field, Self.reason.field], type: "callClosed", errors: [.noIdentity, .notFound],
        samples: (#"{"callId":"c1d2e3f4-0f7c-4e51-9d0c-3c7d1d2b7a10"}"#, #"{"type":"callClosed"}"#),
        .client { opened, parameters, _ in
            let reason = try parameters[Self.reason].flatMap { PeerCalls.EndReason(rawValue: $0) }
            let id = try parameters[Self.callID]
            try await opened.ending(.call(id)) { try $0.calls.end(id, reason, $0) }
        })
}
