import Contract
import WhisperClient

extension Verb {
    static let callList = Verb(
        "call_list", of: "calls",
        about:
            "Lists calls that are made, ring here, or are talked in. A program that has missed events goes on from here.",
        type: "calls", [Field("calls", .array(of: .object(Shapes.call), count: 0...2))], errors: [.noIdentity],
        samples: (
            "{}",
            #"{"type":"calls","calls":[{"callId":"c1d2e3f4-0f7c-4e51-9d0c-3c7d1d2b7a10","chat":"WSP-AAAA-AAAA-AAAA","isOwn":false,"isVideo":true,"stage":"ringing","isHeld":false,"sdp":"v=0","candidates":[]}]}"#
        ),
        .program { program, opened, _, json in
            let held = Set(program.holds.things(of: program.feed))
            let calls = await opened.with { client in client.calls.all.map { ($0, client.calls.ringing($0)) } }
            json.add("calls", objects: calls) { Shapes.write($0, isHeld: held.contains(.call($0.0.id)), &$1) }
        })
}
