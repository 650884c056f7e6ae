/// Signalling of another participant, as it was sent (contract §15.1).
package struct RoomSignal: ServerFrame {
    package let room: UUIDText
    package let kind: RoomSignalKind
    package let to: PrincipalID
    package let signal: LiveSigned

    package static let definition = ServerFrameDefinition(
        "room_signal",
        about:
            "`ciphertext` is a BOX for the reader. The signature is by the sender's key, which `participants` shows.",
        fields: [RoomFields.room.field, RoomFields.kind.field, RoomFields.to.field]
            + LiveSigned.fields(ciphertext: RoomLimits.signalCiphertext),
        samples: [
            "{" + RoomFields.sampleRoom + #","kind":"offer","to":"\#(LiveFields.sampleGuest)","#
                + LiveFields.sampleSigned() + "}"
        ])

    package init(room: UUIDText, kind: RoomSignalKind, to: PrincipalID, signal: LiveSigned) {
        self.room = room
        self.kind = kind
        self.to = to
        self.signal = signal
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.room = try payload[RoomFields.room]
        self.kind = try payload[RoomFields.kind]
        self.to = try payload[RoomFields.to]
        self.signal = try LiveSigned(payload, ciphertext: RoomLimits.signalCiphertext)
    }

    package var json: [UInt8] {
        var json = JSONWriter(capacity: 512 + self.signal.ciphertext.count * 4 / 3)
        json.add(RoomFields.room, self.room)
        json.add(RoomFields.kind, self.kind)
        json.add(RoomFields.to, self.to)
        self.signal.write(to: &json, ciphertext: RoomLimits.signalCiphertext)
        return json.finished()
    }
}
