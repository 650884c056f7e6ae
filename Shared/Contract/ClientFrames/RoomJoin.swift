/// "I come in", or "I am back". Answered by `room_joined` (contract §15.1).
package struct RoomJoin: ClientFrame {
    package enum Key: Sendable {
        /// `nil`: digits that are no code of any room.
        case code(JoinCode?, pin: String?)
        /// Without a proof: by a participant who comes back.
        case room(UUIDText, linkProof: Bytes32?)
    }

    package let key: Key
    package let signPublicKey: Bytes32
    package let encPublicKey: Bytes32

    private static let room = RoomFields.room.optional
    private static let code = RoomFields.code.optional
    private static let pin = RoomFields.pin.optional
    private static let linkProof = LiveFields.linkProof.optional

    package static let definition = FrameDefinition(
        "room_join",
        about: """
            Joins a room by its code or by its link. A participant comes back by `roomId` alone, and does so on each new connection.
            """,
        route: .share(of: "roomId"), principal: .either, rate: Rates.roomControl,
        guess: .init(field: "code", rate: Rates.roomGuesses, addressRate: Rates.roomGuessesOfAddress),
        fields: LiveFields.either + [
            Self.room.field, Self.code.field, Self.pin.field, Self.linkProof.field, LiveFields.signPublicKey.field,
            LiveFields.encPublicKey.field,
        ],
        rules: [.oneOf(Self.code.field.name, Self.room.field.name)],
        refusals: [
            (.authFailed, "The keys are not the caller's."),
            (
                .notFound,
                "There is no such room or code, the code has ended, the pin or the proof is wrong, or by code the room is full."
            ),
            (
                .forbidden,
                "By link: the room is full or locked. The caller has a seat in \(RoomLimits.roomsListedMax) rooms."
            ),
            (.rateLimited, "Too many wrong codes were tried lately. Joins by link go on."),
        ],
        samples: [
            LiveFields.guestSample(#""code":"402917","# + LiveFields.sampleKeys),
            CommonFields.sample(
                RoomFields.sampleRoom + #","linkProof":"\#(LiveFields.sampleSecret)","# + LiveFields.sampleKeys),
        ])

    package init(_ key: Key, signPublicKey: Bytes32, encPublicKey: Bytes32) {
        (self.key, self.signPublicKey, self.encPublicKey) = (key, signPublicKey, encPublicKey)
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        if let code = try payload[Self.code] {
            self.key = .code(JoinCode(code), pin: try payload[Self.pin])
        } else if let room = try payload[Self.room] {
            self.key = .room(room, linkProof: try payload[Self.linkProof].flatMap { Bytes32($0) })
        } else {
            throw Payload.Corrupted()
        }
        guard let sign = Bytes32(try payload[LiveFields.signPublicKey]),
            let enc = Bytes32(try payload[LiveFields.encPublicKey])
        else { throw Payload.Corrupted() }
        (self.signPublicKey, self.encPublicKey) = (sign, enc)
    }

    package func write(to json: inout JSONWriter) {
        switch self.key {
        case .code(let code, let pin):
            json.add(Self.code, code?.text)
            json.add(Self.pin, pin)
        case .room(let room, let proof):
            json.add(Self.room, room)
            json.add(Self.linkProof, proof?.bytes)
        }
        json.add(LiveFields.signPublicKey, self.signPublicKey.bytes)
        json.add(LiveFields.encPublicKey, self.encPublicKey.bytes)
    }
}
