import Contract
import WhisperClient

extension Verb {
    private static let chat = TypedField.whisperID("chat", about: "Whom to call: a contact.")
    private static let isVideo = TypedField.bool("isVideo")
    private static let sdp = TypedField.text(
        "sdp", 1...CoreLimits.textBytesMax, about: "The offer of the host's WebRTC. It is sealed for the callee.")

    static let callStart = Verb(
        "call_start", of: "calls",
        about:
            "Calls a contact. Events follow: `callRinging`, `callAnswered`, `callEnded`. The media are the host's.",
        [Self.chat.field, Self.isVideo.field, Self.sdp.field], type: "callStarted", [Field("callId", .uuid)],
        errors: [
            .noIdentity, .offline, .toSelf, .unknownContact, .bannedContact, .blockedContact, .busy, .store,
        ],
        samples: (
            #"{"chat":"WSP-AAAA-AAAA-AAAA","isVideo":false,"sdp":"v=0"}"#,
            #"{"type":"callStarted","callId":"c1d2e3f4-0f7c-4e51-9d0c-3c7d1d2b7a10"}"#
        ),
        .client { opened, parameters, json in
            let (peer, isVideo) = (try parameters[Self.chat], try parameters[Self.isVideo])
            let offer = try parameters[Self.sdp]
            json.add("callId", try await opened.with { try $0.calls.start(peer, isVideo: isVideo, offer: offer, $0) })
        })
}

extension CoreError {
    init(of error: CallError) {
        switch error {
        case .offline: self.init(.offline)
        case .send(let error): self.init(of: error)
        case .refused(.busy): self.init(.busy)
        case .refused(.unknown): self.init(.notFound, field: "callId")
        case .refused(.wrongStage): self.init(.wrongStage, field: "callId")
        case .refused(.tooMany): self.init(.tooMany)
        }
    }
}
