import Contract
import WhisperClient

extension Verb {
    private static let callID = TypedField.uuid("callId", about: "As `callIncoming` had it.")
    private static let sdp = TypedField.text(
        "sdp", 1...CoreLimits.textBytesMax, about: "The answer of the host's WebRTC.")

    static let callAnswer = Verb(
        "call_answer", of: "calls", about: "Takes a call that rings here.", [Self.callID.field, Self.sdp.field],
        type: "callTaken",
        errors: [
            .noIdentity, .offline, .notFound, .wrongStage, .busy, .unknownContact, .bannedContact, .blockedContact,
            .store,
        ],
        samples: (
            #"{"callId":"c1d2e3f4-0f7c-4e51-9d0c-3c7d1d2b7a10","sdp":"v=0"}"#, #"{"type":"callTaken"}"#
        ),
        .client { opened, parameters, _ in
            try await opened.with { try $0.calls.answer(try parameters[Self.callID], try parameters[Self.sdp], $0) }
        })
}
