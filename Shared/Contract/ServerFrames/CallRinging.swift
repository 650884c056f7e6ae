/// "It rings." Answers a `call_initiate` (contract §7).
package struct CallRinging: ServerFrame {
    package let callID: UUIDText
    /// The callee.
    package let from: WhisperID
    package let timestamp: Timestamp

    private static let callID = TypedField.uuid("callId")
    private static let from = TypedField.whisperID("from", about: "The callee.")
    private static let timestamp = TypedField.timestamp("timestamp")

    package static let definition = ServerFrameDefinition(
        "call_ringing", about: "The call has reached the callee's device.", answers: ["call_initiate"],
        fields: [Self.callID.field, Self.from.field, Self.timestamp.field],
        samples: [
            #"{"callId":"c1d2e3f4-0f7c-4e51-9d0c-3c7d1d2b7a10","from":"WSP-AAAA-AAAA-AAAA","timestamp":1730000000000}"#
        ])

    package init(callID: UUIDText, from: WhisperID, timestamp: Timestamp) {
        self.callID = callID
        self.from = from
        self.timestamp = timestamp
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.callID = try payload[Self.callID]
        self.from = try payload[Self.from]
        self.timestamp = try payload[Self.timestamp]
    }

    package var json: [UInt8] {
        var json = JSONWriter()
        json.add(Self.callID, self.callID)
        json.add(Self.from, self.from)
        json.add(Self.timestamp, self.timestamp)
        return json.finished()
    }
}
