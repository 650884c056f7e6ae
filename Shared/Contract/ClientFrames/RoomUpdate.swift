/// "The room shall be otherwise." Answered by `room_event` (contract §15.1, §19.27).
package struct RoomUpdate: ClientFrame {
    package let room: UUIDText
    package let host: PrincipalID?
    package let participantsMax: Int?
    package let isLocked: Bool?

    private static let host = RoomFields.host.about("Another participant becomes host.").optional
    private static let participantsMax = RoomFields.participantsMax.about("Not below the present number.").optional
    private static let isLocked = RoomFields.isLocked.optional

    package static let definition = FrameDefinition(
        "room_update", about: "Changes a room. At least one of the three has to be there.",
        route: .share(of: "roomId"), principal: .either, rate: Rates.roomControl,
        fields: LiveFields.either + [
            RoomFields.room.field, Self.host.field, Self.participantsMax.field, Self.isLocked.field,
        ],
        refusals: [
            (.invalidPayload, "Nothing is to change, or `participantsMax` is below the present number."),
            RoomFields.notHost, (.notFound, "There is no such room or participant for this caller."),
        ],
        samples: [CommonFields.sample(RoomFields.sampleRoom + #","isLocked":true"#)])

    package init(_ room: UUIDText, host: PrincipalID? = nil, participantsMax: Int? = nil, isLocked: Bool? = nil) {
        (self.room, self.host) = (room, host)
        (self.participantsMax, self.isLocked) = (participantsMax, isLocked)
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.room = try payload[RoomFields.room]
        self.host = try payload[Self.host]
        self.participantsMax = try payload[Self.participantsMax].map { Int($0) }
        self.isLocked = try payload[Self.isLocked]
    }

    package var changesNothing: Bool { self.host == nil && self.participantsMax == nil && self.isLocked == nil }

    package func write(to json: inout JSONWriter) {
        json.add(RoomFields.room, self.room)
        json.add(Self.host, self.host)
        json.add(Self.participantsMax, self.participantsMax.map { Int64($0) })
        json.add(Self.isLocked, self.isLocked)
    }
}
