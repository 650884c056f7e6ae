/// "The room has changed." To every connected participant. To whoever has changed it, it is the answer (contract §15.1, §19.27).
package struct RoomEvent: ServerFrame {
    package enum Event: String, CaseIterable, Sendable {
        case joined, left, removed
        /// Without a connection, with its seat.
        case away
        case back, host, updated, closed
    }

    package let event: Event
    package let participant: PrincipalID?
    package let by: PrincipalID?
    package let timestamp: Timestamp
    package let room: RoomState

    private static let event = TypedField<Event>.choice("event")
    private static let participant = RoomFields.participant.about("Whom it concerns.").optional
    private static let by = TypedField.principalID("by", about: "Who has done it.").optional
    private static let timestamp = TypedField.timestamp("timestamp")
    private static let room = TypedField<RoomState>.object("room", about: "The room after the change.")

    package static let definition = ServerFrameDefinition(
        "room_event", about: "One change, and the whole state after it. What got lost comes with the next one.",
        answers: [RoomUpdate.definition.type, RoomRemove.definition.type],
        fields: [
            RoomFields.room.field, Self.event.field, Self.participant.field, Self.by.field, Self.timestamp.field,
            Self.room.field,
        ],
        samples: [
            "{" + RoomFields.sampleRoom
                + #","event":"joined","participant":"\#(LiveFields.sampleGuest)","timestamp":1730000000000,"room":{"#
                + RoomState.sampleMembers + "}}"
        ])

    package init(
        _ event: Event, participant: PrincipalID? = nil, by: PrincipalID? = nil, timestamp: Timestamp, room: RoomState
    ) {
        self.event = event
        self.participant = participant
        self.by = by
        self.timestamp = timestamp
        self.room = room
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.init(
            try payload[Self.event], participant: try payload[Self.participant], by: try payload[Self.by],
            timestamp: try payload[Self.timestamp], room: try payload[Self.room])
    }

    package var json: [UInt8] {
        var json = JSONWriter(capacity: 512 + 320 * self.room.participants.count)
        json.add(RoomFields.room, self.room.room)
        json.add(Self.event, self.event)
        json.add(Self.participant, self.participant)
        json.add(Self.by, self.by)
        json.add(Self.timestamp, self.timestamp)
        json.add(Self.room, self.room)
        return json.finished()
    }
}
