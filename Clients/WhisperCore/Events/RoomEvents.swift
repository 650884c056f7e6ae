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
                    "`offer`: make a connection with the channels `chat` and `talk` and an offer. `accept`: take the other one's offer and answer it. `answer`: take its answer. `candidate`: add its address. `drop`: close the connection."
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

/// Messages in rooms. Nothing of them is kept.
extension EventDefinition {
    private static let participant = Field("participant", .principalID)

    static let roomData = EventDefinition(
        "roomData",
        about:
            "The host's WebRTC stack is to write this to a channel, once that is open and in order. At most 64 of them come for a connection until `room_signal` with `low`.",
        isKept: false,
        [
            Self.roomID, Field("to", .principalID, about: "The participant at the other end."),
            Field("link", .integer(1...Int64.max), about: "The number of the connection."),
            Field(
                "channel", .choice(TalkMachine.Channel.allCases.map(\.rawValue)),
                about: "`chat` for a participant whose client does not know `talk`."),
            Field("text", .text(0...TalkLimits.messageBytesMax), about: "One message."),
        ],
        sample:
            #"{"type":"roomData",\#(Shapes.sampleRoomID),"to":"WSP-AAAA-AAAA-AAAA","link":1,"channel":"talk","text":"{}"}"#
    )

    static let roomMessage = EventDefinition(
        "roomMessage", about: "Somebody in a room says something.", isKept: false,
        [
            Self.roomID, Field("id", .lowerCaseUUID), Field("from", .principalID),
            Field("name", .text(TalkLimits.nameScalars), .optional, about: "See `roomPerson`."),
            Field("at", .timestamp, about: "By the clock of whoever says it."),
            Field("text", .text(0...TalkLimits.textBytesMax)),
            Field("re", .lowerCaseUUID, .optional, about: "The message that it answers."),
        ],
        sample:
            #"{"type":"roomMessage",\#(Shapes.sampleRoomID),"id":"9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10","from":"WSP-AAAA-AAAA-AAAA","name":"Ann","at":1767225600000,"text":"Is this thing on?"}"#
    )

    static let roomMessageState = EventDefinition(
        "roomMessageState", about: "A message of ours is so far with one participant.", isKept: false,
        [
            Self.roomID, Field("id", .lowerCaseUUID), Field("to", .principalID),
            Field(
                "state", .choice(TalkMachine.State.allCases.map(\.rawValue)),
                about:
                    "`waiting`: for a connection. `sent`: written to it. `got`: shown there. `lost`: the participant has left, the room is over, or too much waited. A participant that `isPlain` ends at `sent`."
            ),
        ],
        sample:
            #"{"type":"roomMessageState",\#(Shapes.sampleRoomID),"id":"9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10","to":"WSP-AAAA-AAAA-AAAA","state":"got"}"#
    )

    static let roomPerson = EventDefinition(
        "roomPerson", about: "How a participant is to be shown.", isKept: false,
        [
            Self.roomID, Self.participant,
            Field(
                "name", .text(TalkLimits.nameScalars), .optional,
                about: "As it calls itself. Show it with the safety number until people have compared that."),
            Field("isPlain", .bool, about: "It has a client of before: it gets texts, and tells nobody so."),
            Field("isFull", .bool, about: "Too much waits for it: `room_say` is refused."),
        ],
        sample:
            #"{"type":"roomPerson",\#(Shapes.sampleRoomID),"participant":"WSP-AAAA-AAAA-AAAA","name":"Ann","isPlain":false,"isFull":false}"#
    )
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
        case .data, .message, .messageState, .person:
            Self.write(said: news, in: room, &json)
        case .over(let end):
            json.add("type", "roomEnded")
            json.add("roomId", room)
            json.add("reason", "\(end)")
        }
        return Self.envelope(json.finished(), number: nil, account: account)
    }

    private static func write(said news: RoomNews, in room: UUIDText, _ json: inout JSONWriter) {
        switch news {
        case .data(let peer, let number, let channel, let text):
            json.add("type", "roomData")
            json.add("roomId", room)
            json.add("to", "\(peer)")
            json.add("link", Int64(number))
            json.add("channel", channel.rawValue)
            json.add("text", text)
        case .message(let peer, let name, let message):
            json.add("type", "roomMessage")
            json.add("roomId", room)
            json.add("id", message.id)
            json.add("from", "\(peer)")
            json.add("name", name)
            json.add("at", message.time)
            json.add("text", message.text)
            if let answered = message.answered { json.add("re", answered) }
        case .messageState(let message, let peer, let state):
            json.add("type", "roomMessageState")
            json.add("roomId", room)
            json.add("id", message)
            json.add("to", "\(peer)")
            json.add("state", state.rawValue)
        case .person(let peer, let person):
            json.add("type", "roomPerson")
            json.add("roomId", room)
            json.add("participant", "\(peer)")
            json.add("name", person.name)
            json.add("isPlain", person.isPlain)
            json.add("isFull", person.isFull)
        case .shown, .told, .link, .forged, .over: break
        }
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
