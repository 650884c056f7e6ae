/// Signalling for one other participant. No answer (contract §15.1, §15.2).
package struct SendRoomSignal: ClientFrame {
    package let room: UUIDText
    package let kind: RoomSignalKind
    package let to: PrincipalID
    package let signal: LiveSigned

    package static let definition = FrameDefinition(
        "room_signal",
        about: """
            An offer, an answer or a candidate in a BOX for another participant. For one who is not connected, the newest offer and \
            answer and \(RoomLimits.candidatesKeptMax) candidates are kept for 30 s. Of each pair the one with the lower seat offers.
            """,
        route: .share(of: "roomId"), principal: .either, rate: Rates.roomSignals,
        fields: LiveFields.either + [RoomFields.room.field, RoomFields.kind.field, RoomFields.to.field]
            + LiveSigned.fields(ciphertext: RoomLimits.signalCiphertext),
        refusals: [
            (.notFound, "There is no such room or participant for this caller."),
            (.forbidden, "The caller has not joined on this connection."), LiveFields.untimely,
        ],
        samples: [
            LiveFields.guestSample(
                RoomFields.sampleRoom + #","kind":"offer","to":"\#(LiveFields.sampleIdentity)","#
                    + LiveFields.sampleSigned(from: LiveFields.sampleGuest))
        ])

    package init(_ kind: RoomSignalKind, _ signal: LiveSigned, to peer: PrincipalID, in room: UUIDText) {
        (self.room, self.kind, self.to, self.signal) = (room, kind, peer, signal)
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.room = try payload[RoomFields.room]
        self.kind = try payload[RoomFields.kind]
        self.to = try payload[RoomFields.to]
        self.signal = try LiveSigned(payload, ciphertext: RoomLimits.signalCiphertext)
    }

    package func write(to json: inout JSONWriter) {
        json.add(RoomFields.room, self.room)
        json.add(RoomFields.kind, self.kind)
        json.add(RoomFields.to, self.to)
        self.signal.write(to: &json, ciphertext: RoomLimits.signalCiphertext)
    }
}
