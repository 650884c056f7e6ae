import Contract
import WhisperClient

extension Verb {
    private enum Kind: String, CaseIterable, Sendable {
        case offer, answer, candidate, connected, failed, low
    }

    private static let to = TypedField.principalID("to", about: "The participant at the other end.")
    private static let link = TypedField.integer(
        "link", 1...Int64.max, about: "The number of the connection, as the event `roomSignal` had it.")
    private static let kind = TypedField<Kind>.choice(
        "kind",
        about:
            "Result of the stack, or state of the connection: `connected` when a channel is open, `failed` when it broke. `low`: all `roomData` so far is written, and less than 262144 bytes of it wait in the stack."
    )
    private static let sdp = TypedField.text(
        "sdp", 1...RoomLimits.signalCiphertext.upperBound, about: "With `offer` and `answer`."
    ).optional
    private static let candidate = TypedField.text("candidate", 0...4_096, about: "With `candidate`.").optional
    private static let sdpMLineIndex = TypedField.integer("sdpMLineIndex", 0...65_535, about: "With `candidate`.")
        .optional
    private static let sdpMid = TypedField.text("sdpMid", 0...256, about: "With `candidate`.").optional

    static let roomSignal = Verb(
        "room_signal", of: "rooms",
        about:
            "Tells what the host's WebRTC stack says of a connection. The core seals and signs it, and decides what goes out. Reports about an earlier connection are ignored.",
        [
            RoomParameters.room.field, Self.to.field, Self.link.field, Self.kind.field, Self.sdp.field,
            Self.candidate.field, Self.sdpMLineIndex.field, Self.sdpMid.field,
        ], type: "signalled", errors: [.noIdentity, .notFound],
        samples: (
            #"{\#(Shapes.sampleRoomID),"to":"WSP-AAAA-AAAA-AAAA","link":1,"kind":"offer","sdp":"v=0"}"#,
            #"{"type":"signalled"}"#
        ),
        .client { opened, parameters, _ in
            let report: LinkReport
            switch (try parameters[Self.kind], try parameters[Self.sdp], try parameters[Self.candidate]) {
            case (.offer, let sdp?, nil): report = .offer(sdp)
            case (.answer, let sdp?, nil): report = .answer(sdp)
            case (.candidate, nil, let candidate?):
                report = .candidate(
                    RoomCandidate(
                        candidate: candidate, sdpMLineIndex: try parameters[Self.sdpMLineIndex].map { Int($0) },
                        sdpMid: try parameters[Self.sdpMid]))
            case (.connected, nil, nil): report = .connected
            case (.failed, nil, nil): report = .failed
            case (.low, nil, nil): report = .low
            default: throw CoreError(.invalidField, "does not fit the other fields", field: "kind")
            }
            let (id, client) = (try parameters[RoomParameters.room], opened.client)
            guard await client.with({ $0.rooms[id] }) != nil else { throw CoreError(.notFound, field: "roomId") }
            guard let number = Int(exactly: try parameters[Self.link]) else { return }
            try await client.with { $0.rooms.report(report, of: try parameters[Self.to], number: number, in: id, $0) }
        })
}
