/// "Another code, or none." Answered by `room_code` (contract §15.1).
package struct RenewRoomCode: ClientFrame {
    package let room: UUIDText
    package let code: RoomCodeWish

    private static let seconds = 0...RoomLimits.codeTTL.upperBound

    package static let definition = FrameDefinition(
        "room_code", about: "Retires the room's code and draws another one. 0 seconds: the room has none.",
        route: .share(of: "roomId"), principal: .either, rate: Rates.roomCodes,
        fields: LiveFields.either + [RoomFields.room.field] + RoomCodeWish.fields(ttl: Self.seconds),
        rules: [RoomCodeWish.rule],
        refusals: [RoomFields.notHost, RoomFields.notFound],
        samples: [
            LiveFields.guestSample(RoomFields.sampleRoom),
            CommonFields.sample(RoomFields.sampleRoom + #","codeDigits":6,"codeTtlSeconds":0"#),
        ])

    package init(_ code: RoomCodeWish, of room: UUIDText) { (self.room, self.code) = (room, code) }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.room = try payload[RoomFields.room]
        self.code = try RoomCodeWish(payload, ttl: Self.seconds)
    }

    package func write(to json: inout JSONWriter) {
        json.add(RoomFields.room, self.room)
        self.code.write(to: &json, ttl: Self.seconds)
    }
}
