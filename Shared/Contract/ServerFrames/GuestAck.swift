/// "You are this guest." Answers a `guest_proof` (contract §14.3).
package struct GuestAck: ServerFrame {
    package let guestID: GuestID
    package let token: String
    package let expiresAt: Timestamp
    package let serverTime: Timestamp

    private static let guestID = TypedField.guestID(
        "guestId", about: "The guest's id; a client checks that it belongs to its keys.")
    private static let token = TypedField.text(
        "guestToken", Limits.sessionTokenCharacters, about: "Opaque: `A-Z a-z 0-9 _ -`. The next proof ends it.")
    private static let expiresAt = TypedField.timestamp(
        "guestExpiresAt", about: "\(Limits.guestTokenTTL.components.seconds / 3_600) h after the proof.")
    private static let serverTime = TypedField.timestamp("serverTime")

    package static let definition = ServerFrameDefinition(
        "guest_ack", about: "The proof succeeded; the connection belongs to the guest from here on.",
        answers: ["guest_proof"],
        fields: [
            CommonFields.success.field, Self.guestID.field, Self.token.field, Self.expiresAt.field,
            Self.serverTime.field,
        ],
        samples: [
            #"{"success":true,"guestId":"gst-0f8fad5bd9cb469fa16570867728950e","guestToken":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA","guestExpiresAt":1730086400000,"serverTime":1730000000000}"#
        ])

    package init(guestID: GuestID, token: String, expiresAt: Timestamp, serverTime: Timestamp) {
        self.guestID = guestID
        self.token = token
        self.expiresAt = expiresAt
        self.serverTime = serverTime
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.guestID = try payload[Self.guestID]
        self.token = try payload[Self.token]
        self.expiresAt = try payload[Self.expiresAt]
        self.serverTime = try payload[Self.serverTime]
    }

    package var json: [UInt8] {
        var json = JSONWriter(capacity: 192)
        json.add(CommonFields.success, true)
        json.add(Self.guestID, self.guestID)
        json.add(Self.token, self.token)
        json.add(Self.expiresAt, self.expiresAt)
        json.add(Self.serverTime, self.serverTime)
        return json.finished()
    }
}
