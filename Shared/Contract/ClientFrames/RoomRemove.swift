/// "Out." Answered by `room_event` (contract §15.1, §19.27).
package struct RoomRemove: ClientFrame {
    package let room: UUIDText
    package let participant: PrincipalID

    package static let definition = FrameDefinition(
        "room_remove",
        about: "Removes a participant, who cannot come back by the same code or link. A new code lets it in.",
        route: .share(of: "roomId"), principal: .either, rate: Rates.roomControl,
        fields: LiveFields.either + [RoomFields.room.field, RoomFields.participant.field],
        refusals: [
            (.invalidPayload, "The host removes itself: it leaves instead."), RoomFields.notHost,
            (.notFound, "There is no such room or participant for this caller."),
        ],
        samples: [CommonFields.sample(RoomFields.sampleRoom + #","participant":"\#(LiveFields.sampleGuest)""#)])

    package init(_ participant: PrincipalID, from room: UUIDText) {
        (self.room, self.participant) = (room, participant)
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.room = try payload[RoomFields.room]
        self.participant = try payload[RoomFields.participant]
    }

    package func write(to json: inout JSONWriter) {
        json.add(RoomFields.room, self.room)
        json.add(RoomFields.participant, self.participant)
    }
}
