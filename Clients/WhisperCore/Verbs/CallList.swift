import Contract
import WhisperClient

extension Verb {
    private static let call = ObjectSchema([
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

    static let callList = Verb(
        "call_list", of: "calls",
        about:
            "Lists calls that are made, ring here, or are talked in. A program that has missed events goes on from here.",
        type: "calls", [Field("calls", .array(of: .object(Self.call), count: 0...2))], errors: [.noIdentity],
        samples: (
            "{}",
            #"{"type":"calls","calls":[{"callId":"c1d2e3f4-0f7c-4e51-9d0c-3c7d1d2b7a10","chat":"WSP-AAAA-AAAA-AAAA","isOwn":false,"isVideo":true,"stage":"ringing","isHeld":false,"sdp":"v=0","candidates":[]}]}"#
        ),
        .program { program, opened, _, json in
            let held = Set(program.holds.things(of: program.feed))
            let calls = await opened.with { client in client.calls.all.map { ($0, client.calls.ringing($0)) } }
            json.add("calls", objects: calls) { call, json in
                let (call, ringing) = call
                json.add("callId", call.id)
                json.add("chat", call.peer)
                json.add("isOwn", call.isOurs)
                json.add("isVideo", call.isVideo)
                json.add("stage", call.stage.rawValue)
                json.add("isHeld", held.contains(.call(call.id)))
                json.add("sdp", ringing?.offer)
                if let ringing { json.add("candidates", strings: ringing.candidates) }
            }
        })
}
