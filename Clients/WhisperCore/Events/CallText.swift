import Contract
import WhisperClient

/// Writes what happens to calls.
extension EventText {
    static func write(_ news: CallNews, _ json: inout JSONWriter) {
        switch news {
        case .incoming(let id, let peer, let isVideo, let offer):
            json.add("type", "callIncoming")
            json.add("callId", id)
            json.add("chat", peer)
            json.add("isVideo", isVideo)
            json.add("sdp", offer)
        case .ringing(let id):
            json.add("type", "callRinging")
            json.add("callId", id)
        case .answered(let id, let answer):
            json.add("type", "callAnswered")
            json.add("callId", id)
            json.add("sdp", answer)
        case .candidate(let id, let candidate):
            json.add("type", "callCandidate")
            json.add("callId", id)
            json.add("candidate", candidate)
        case .taken(let id):
            json.add("type", "callTaken")
            json.add("callId", id)
        case .ended(let id, let peer, let reason):
            json.add("type", "callEnded")
            json.add("callId", id)
            json.add("chat", peer)
            json.add("reason", reason.rawValue)
        case .noted(let note, let peer):
            json.add("type", "callNoted")
            json.add("chat", peer)
            json.add("note", object: note) { Shapes.write($0, &$1) }
        }
    }
}

extension EventDefinition {
    private static let callID = Field("callId", .uuid)
    private static let sdp = Field("sdp", .text(0...Limits.ciphertextBytesMax), about: "For the host's WebRTC.")
    private static let callSample = #""callId":"c1d2e3f4-0f7c-4e51-9d0c-3c7d1d2b7a10""#

    static let callIncoming = EventDefinition(
        "callIncoming",
        about:
            "A contact calls: it is signed by the pinned keys. Take the call by `call_answer`, or decline it by `call_end`. Calls of strangers do not ring.",
        isKept: false,
        [
            Self.callID, Field("chat", .whisperID, about: "The caller."),
            Field("isVideo", .bool, about: "The server's word: nobody signed it."), Self.sdp,
        ],
        sample: #"{"type":"callIncoming",\#(Self.callSample),"chat":"WSP-AAAA-AAAA-AAAA","isVideo":false,"sdp":"v=0"}"#)

    static let callRinging = EventDefinition(
        "callRinging", about: "A call of ours rings at the other side.", isKept: false, [Self.callID],
        sample: #"{"type":"callRinging",\#(Self.callSample)}"#)

    static let callAnswered = EventDefinition(
        "callAnswered", about: "A call of ours was taken.", isKept: false, [Self.callID, Self.sdp],
        sample: #"{"type":"callAnswered",\#(Self.callSample),"sdp":"v=0"}"#)

    static let callCandidate = EventDefinition(
        "callCandidate", about: "A network path to the other side of a call.", isKept: false,
        [Self.callID, Field("candidate", .text(0...Limits.ciphertextBytesMax), about: "As `call_ice` has it there.")],
        sample: #"{"type":"callCandidate",\#(Self.callSample),"candidate":"candidate:1"}"#)

    static let callEnded = EventDefinition(
        "callEnded",
        about:
            "A call is over. `busy`: there is another call, or two calls have crossed. `timeout`: nobody has answered. `failed`: the server has refused it.",
        isKept: false,
        [
            Self.callID, Field("chat", .whisperID, about: "With whom it was."),
            Field("reason", .choice(PeerCalls.EndReason.allCases.map(\.rawValue))),
        ], sample: #"{"type":"callEnded",\#(Self.callSample),"chat":"WSP-AAAA-AAAA-AAAA","reason":"ended"}"#)

    static let callTaken = EventDefinition(
        "callTaken", about: "A call that rang here was answered by `call_answer`, perhaps by another program.",
        isKept: false, [Self.callID], sample: #"{"type":"callTaken",\#(Self.callSample)}"#)

    static let callNoted = EventDefinition(
        "callNoted",
        about: "A call stands in the history of its chat from here on, also one that found us in another call.",
        isKept: false,
        [Field("chat", .whisperID, about: "The other person."), Field("note", .object(Shapes.chatNote))],
        sample:
            #"{"type":"callNoted","chat":"WSP-AAAA-AAAA-AAAA","note":{"number":17,"time":1767225600000,"kind":"call","from":"WSP-AAAA-AAAA-AAAA","seconds":0,"isVideo":false,"outcome":"missed"}}"#
    )
}

/// Calls in answers.
extension Shapes {
    static let call = ObjectSchema([
        Field("callId", .uuid), Field("chat", .whisperID, about: "With whom it is."), Field("isOwn", .bool),
        Field("isVideo", .bool), Field("stage", .choice(["calling", "ringing", "talking"])),
        Field("isHeld", .bool, about: "Whether this program holds it, by `call_hold`."),
        Field(
            "sdp", .text(0...Limits.ciphertextBytesMax), .optional, about: "Of one that rings here, as `callIncoming`."),
        Field(
            "candidates",
            .array(of: .text(0...Limits.ciphertextBytesMax), count: 0...ClientLimits.callCandidatesMax), .optional,
            about: "Network paths to its caller so far: \(ClientLimits.candidateBytesKeptMax) bytes at most."),
    ])

    static func write(_ call: (PeerCall, Calls.Ringing?), isHeld: Bool, _ json: inout JSONWriter) {
        let (call, ringing) = call
        json.add("callId", call.id)
        json.add("chat", call.peer)
        json.add("isOwn", call.isOurs)
        json.add("isVideo", call.isVideo)
        json.add("stage", call.stage.rawValue)
        json.add("isHeld", isHeld)
        json.add("sdp", ringing?.offer)
        if let ringing { json.add("candidates", strings: ringing.candidates) }
    }
}
