import Contract
import WhisperClient

extension Verb {
    private static let callID = TypedField.uuid("callId")
    private static let candidate = TypedField.text(
        "candidate", 1...CoreLimits.textBytesMax, about: "Any text that the other host understands.")

    static let callICE = Verb(
        "call_ice", of: "calls",
        about:
            "Tells the other side a network path. A call sends \(ClientLimits.callCandidatesMax) at most, and shows as many.",
        [Self.callID.field, Self.candidate.field], type: "callPathTold",
        errors: [
            .noIdentity, .offline, .notFound, .tooMany, .unknownContact, .bannedContact, .blockedContact, .store,
        ],
        samples: (
            #"{"callId":"c1d2e3f4-0f7c-4e51-9d0c-3c7d1d2b7a10","candidate":"candidate:1"}"#,
            #"{"type":"callPathTold"}"#
        ),
        .client { opened, parameters, _ in
            let (id, candidate) = (try parameters[Self.callID], try parameters[Self.candidate])
            try await opened.with { try $0.calls.tell(candidate: candidate, of: id, $0) }
        })
}
