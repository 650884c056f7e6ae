import Contract
import WhisperClient

/// Events of rooms that were entered.
extension EventDefinition {
    private static let roomID = Field("roomId", .lowerCaseUUID)

    static let roomChanged = EventDefinition(
        "roomChanged",
        about:
            "A room is so now: somebody has come or gone, a connection to somebody is up or lost, or the host has changed something.",
        isKept: false, [Field("room", .object(Shapes.room))],
        sample: #"{"type":"roomChanged","room":"# + Shapes.sampleRoom + "}")

    static let roomEvent = EventDefinition(
        "roomEvent", about: "Something has happened in a room. `roomChanged` has the room after it.", isKept: false,
        [
            Self.roomID, Field("event", .choice(RoomEvent.Event.allCases.map(\.rawValue))),
            Field("participant", .principalID, .optional, about: "Whom it concerns."),
        ],
        sample: #"{"type":"roomEvent",\#(Shapes.sampleRoomID),"event":"joined","participant":"WSP-AAAA-AAAA-AAAA"}"#)

    static let roomSignal = EventDefinition(
        "roomSignal", about: "The host's WebRTC stack is to do something about a connection. See `room_signal`.",
        isKept: false,
        [
            Self.roomID, Field("from", .principalID, about: "The participant at the other end."),
            Field(
                "link", .integer(1...Int64.max), about: "The number of the connection. A new one has a higher number."),
            Field(
                "kind", .choice(["offer", "accept", "answer", "candidate", "drop"]),
                about:
                    "`offer`: make a connection with the channel `chat` and an offer. `accept`: take the other one's offer and answer it. `answer`: take its answer. `candidate`: add its address. `drop`: close the connection."
            ),
            Field(
                "sdp", .text(0...RoomLimits.signalCiphertext.upperBound), .optional,
                about: "With `accept` and `answer`."),
            Field(
                "isFresh", .bool, .optional,
                about: "With `accept`: a new connection. Else it is about the one there is."),
        ] + Shapes.candidate,
        sample:
            #"{"type":"roomSignal",\#(Shapes.sampleRoomID),"from":"WSP-AAAA-AAAA-AAAA","link":1,"kind":"accept","sdp":"v=0","isFresh":true}"#
    )

    static let roomForged = EventDefinition(
        "roomForged",
        about:
            "Show it loudly: the server gave out keys for a participant that are not theirs. Nothing is exchanged with them.",
        isKept: false, [Self.roomID, Field("participant", .principalID)],
        sample: #"{"type":"roomForged",\#(Shapes.sampleRoomID),"participant":"WSP-AAAA-AAAA-AAAA"}"#)

    static let roomEnded = EventDefinition(
        "roomEnded", about: "The room is over for us.", isKept: false,
        [
            Self.roomID,
            Field(
                "reason", .choice(["left", "closed", "removed", "notFound", "broken"]),
                about: "`notFound`: our seat or the room is gone. `broken`: the server does not take our frames."),
        ], sample: #"{"type":"roomEnded",\#(Shapes.sampleRoomID),"reason":"removed"}"#)
}

extension EventText {
    /// - Parameter origin: of links.
    static func event(_ room: UUIDText, _ news: RoomNews, origin: String, account: WhisperID?) -> [UInt8] {
        var json = JSONWriter()
        switch news {
        case .shown(let view):
            json.add("type", "roomChanged")
            json.add("room", object: view) { Shapes.write($0, origin: origin, &$1) }
        case .told(let event, let participant):
            json.add("type", "roomEvent")
            json.add("roomId", room)
            json.add("event", event.rawValue)
            json.add("participant", participant.map { "\($0)" })
        case .link(let peer, let number, let order):
            json.add("type", "roomSignal")
            json.add("roomId", room)
            json.add("from", "\(peer)")
            json.add("link", Int64(number))
            Self.write(order, &json)
        case .forged(let participant):
            json.add("type", "roomForged")
            json.add("roomId", room)
            json.add("participant", "\(participant)")
        case .over(let end):
            json.add("type", "roomEnded")
            json.add("roomId", room)
            json.add("reason", "\(end)")
        }
        return Self.envelope(json.finished(), number: nil, account: account)
    }

    private static func write(_ order: LinkOrder, _ json: inout JSONWriter) {
        switch order {
        case .offer: json.add("kind", "offer")
        case .accept(let sdp, let isFresh):
            json.add("kind", "accept")
            json.add("sdp", sdp)
            json.add("isFresh", isFresh)
        case .answer(let sdp):
            json.add("kind", "answer")
            json.add("sdp", sdp)
        case .candidate(let candidate):
            json.add("kind", "candidate")
            json.add("candidate", candidate.candidate)
            if let index = candidate.sdpMLineIndex { json.add("sdpMLineIndex", Int64(index)) }
            json.add("sdpMid", candidate.sdpMid)
        case .drop: json.add("kind", "drop")
        }
    }
}
