/// "You are logged in." Answers a `register_proof` (contract §4).
package struct RegisterAck: ServerFrame {
    package let whisperID: WhisperID
    package let session: SessionGrant

    private static let whisperID = TypedField.whisperID(
        "whisperId", about: "The identity's id; a client checks that it belongs to its keys.")

    package static let definition = ServerFrameDefinition(
        "register_ack", about: "The login succeeded; the connection belongs to the identity from here on.",
        answers: ["register_proof"],
        fields: [CommonFields.success.field, Self.whisperID.field] + SessionGrant.fields,
        samples: [
            #"{"success":true,"whisperId":"WSP-JBPU-D452-TLT4","sessionToken":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA","sessionExpiresAt":1730604800000,"serverTime":1730000000000}"#,
            #"{"success":true,"whisperId":"WSP-JBPU-D452-TLT4","sessionToken":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA","sessionExpiresAt":1730604800000,"serverTime":1730000000000,"rateClass":"bot"}"#,
        ])

    package init(whisperID: WhisperID, session: SessionGrant) {
        self.whisperID = whisperID
        self.session = session
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.whisperID = try payload[Self.whisperID]
        self.session = try SessionGrant(payload)
    }

    package var json: [UInt8] {
        var json = JSONWriter(capacity: 192)
        json.add(CommonFields.success, true)
        json.add(Self.whisperID, self.whisperID)
        self.session.write(to: &json)
        return json.finished()
    }
}
