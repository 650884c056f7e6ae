import Contract
import WhisperClient

/// Rooms in answers and events.
extension Shapes {
    private static let participant = ObjectSchema([
        Field("participant", .principalID, about: "A Whisper ID, or the id of a guest."),
        Field("seat", .integer(RoomLimits.seats), about: "In each pair the lower seat offers."),
        Field("via", .choice(RoomParticipant.Way.allCases.map(\.rawValue)), about: "How this one came in."),
        Field("isConnected", .bool, about: "Whether this one is connected to the server."),
        Field(
            "isLinked", .bool, .optional, about: "Whether content can be exchanged now. For others in an entered room."),
        Field(
            "link", .integer(0...Int64.max), .optional,
            about:
                "The number of the connection, for others in an entered room; 0: none. A host whose WebRTC stack is gone reports it as `failed`, and gets new orders."
        ),
        Field("name", .text(1...64), .optional, about: "As `roomPerson` has it."),
        Field("joinedAt", .timestamp),
        Field("signPublicKey", .base64(32...32)), Field("encPublicKey", .base64(32...32)),
        Field(
            "safetyNumber", .text(24...24), .optional,
            about: "Both people see the same if no server stands between them. Compare it by voice."),
    ])

    static let turn = ObjectSchema([
        Field("urls", .array(of: .text(1...512), count: 1...16)),
        Field("username", .text(1...128)),
        Field("credential", .text(1...64), about: "As WebRTC stacks want it."),
        Field("ttl", .integer(1...Int64.max), about: "In seconds."),
    ])

    static let room = ObjectSchema([
        Field("roomId", .lowerCaseUUID),
        Field("own", .principalID, .optional, about: "Which of the participants we are. In an entered room."),
        Field("host", .principalID, about: "The participant who may change the room."),
        Field("participantsMax", .integer(RoomLimits.participants)),
        Field("isLocked", .bool, about: "Whether nobody new may join."),
        Field("revision", .integer(1...Int64.max), about: "Grows with each change. The newest counts."),
        Field(
            "state", .choice(RoomState.Phase.allCases.map(\.rawValue)), about: "`pending`: nobody else has come yet."),
        Field("expiresAt", .timestamp, about: "When the room ends if nobody connects any more."),
        Field(
            "participants",
            .array(of: .object(Self.participant), count: 0...Int(RoomLimits.participants.upperBound))),
        Field("code", .digits(RoomLimits.codeCharacters), .optional, about: "Opens the room. For its host alone."),
        Field("codeExpiresAt", .timestamp, .optional),
        Field(
            "link", .text(1...1_000), .optional, about: "Opens the room. It holds a secret that the server never sees."),
        Field(
            "turn", .object(Self.turn), .optional,
            about: "Relays for the WebRTC stack, once somebody else has a seat."),
    ])

    /// A room as the server lists it.
    static func write(_ room: RoomState, _ json: inout JSONWriter) { Self.write(room, of: nil, &json) }

    /// A room that was entered.
    /// - Parameter origin: of links.
    static func write(_ view: RoomView, origin: String, _ json: inout JSONWriter) {
        Self.write(view.room, of: view, &json)
        json.add("code", view.code)
        if let end = view.codeExpiresAt { json.add("codeExpiresAt", end) }
        json.add("link", view.link(origin: origin)?.text)
        if let turn = view.turn { json.add("turn", object: turn) { Self.write($0, &$1) } }
    }

    static func write(_ turn: TurnCredentialsFrame, _ json: inout JSONWriter) {
        json.add("urls", strings: turn.urls)
        json.add("username", turn.username)
        json.add("credential", Base64.text(turn.credential))
        json.add("ttl", turn.ttl)
    }

    private static func write(_ room: RoomState, of view: RoomView?, _ json: inout JSONWriter) {
        json.add("roomId", room.room)
        json.add("own", view.map { "\($0.own)" })
        json.add("host", "\(room.host)")
        json.add("participantsMax", Int64(room.participantsMax))
        json.add("isLocked", room.isLocked)
        json.add("revision", room.revision)
        json.add("state", room.phase.rawValue)
        json.add("expiresAt", room.expiresAt)
        json.add("participants", objects: room.participants) { one, json in
            json.add("participant", "\(one.participant)")
            json.add("seat", Int64(one.seat))
            json.add("via", one.via.rawValue)
            json.add("isConnected", one.isConnected)
            let isOther = view.map { $0.own != one.participant } ?? false
            if let view, isOther {
                json.add("isLinked", view.linked.contains(one.participant))
                json.add("link", Int64(view.links[one.participant] ?? 0))
                json.add("name", view.names[one.participant])
            }
            json.add("joinedAt", one.joinedAt)
            json.add("signPublicKey", base64: one.signPublicKey.bytes)
            json.add("encPublicKey", base64: one.encPublicKey.bytes)
            if isOther { json.add("safetyNumber", view?.safetyNumber(with: one)) }
        }
    }

    /// The fields of an address, as WebRTC stacks have them (`RTCIceCandidateInit`).
    static let candidate = [
        Field("candidate", .text(0...4_096), .optional, about: "In the kind `candidate`: an address."),
        Field("sdpMLineIndex", .integer(0...65_535), .optional, about: "In the kind `candidate`."),
        Field("sdpMid", .text(0...256), .optional, about: "In the kind `candidate`."),
    ]

    static let sampleRoomID = #""roomId":"0b6d8f0e-3c1a-4f5e-9a77-2d1c0b9a8f7e""#

    static let sampleRoom =
        "{" + Self.sampleRoomID
        + #","own":"WSP-AAAA-AAAA-AAAA","host":"WSP-AAAA-AAAA-AAAA","participantsMax":2,"isLocked":false,"revision":1,"state":"pending","expiresAt":1769817600000,"participants":[{"participant":"WSP-AAAA-AAAA-AAAA","seat":1,"via":"creator","isConnected":true,"joinedAt":1767225600000,"signPublicKey":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=","encPublicKey":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}],"code":"402917","codeExpiresAt":1767226200000,"link":"https://chat.example/join/0b6d8f0e-3c1a-4f5e-9a77-2d1c0b9a8f7e#AAAAAAAAAAAAAAAAAAAAAA","turn":{"urls":["turn:turn.example:3478?transport=udp"],"username":"1767268800:d41d8cd98f00b204","credential":"AAECAwQFBgcICQoLDA0ODxAREhM=","ttl":43200}}"#
}
