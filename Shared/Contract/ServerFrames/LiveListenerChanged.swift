/// "Somebody listens, waits or has gone." For the holder, and the answer to `live_refuse` (contract §14.8, §19.21).
package struct LiveListenerChanged: ServerFrame {
    package enum Status: String, CaseIterable, Sendable {
        case waiting, joined, left, admitted, refused, blocked
    }

    package let conversation: ConversationID
    package let listener: PrincipalID
    package let status: Status
    package let joined: Int
    package let timestamp: Timestamp

    private static let status = TypedField<Status>.choice("status")
    private static let joined = TypedField.integer(
        "joined", 0...Int64(LiveLimits.listenersMax), about: "How many listen now.")
    private static let timestamp = TypedField.timestamp("timestamp")

    package static let definition = ServerFrameDefinition(
        "live_listener",
        about: "What has become of a listener. A client that counts otherwise than `joined` asks `live_roster`.",
        answers: [LiveRefuse.definition.type],
        fields: [
            LiveFields.conversation.field, LiveFields.listener.field, Self.status.field, Self.joined.field,
            Self.timestamp.field,
        ],
        samples: [
            "{" + LiveFields.sampleConversation
                + #","listener":"\#(LiveFields.sampleGuest)","status":"joined","joined":3,"timestamp":1730000000000}"#
        ])

    package init(
        conversation: ConversationID, listener: PrincipalID, status: Status, joined: Int, timestamp: Timestamp
    ) {
        self.conversation = conversation
        self.listener = listener
        self.status = status
        self.joined = joined
        self.timestamp = timestamp
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.conversation = try payload[LiveFields.conversation]
        self.listener = try payload[LiveFields.listener]
        self.status = try payload[Self.status]
        self.joined = Int(try payload[Self.joined])
        self.timestamp = try payload[Self.timestamp]
    }

    package var json: [UInt8] {
        var json = JSONWriter()
        json.add(LiveFields.conversation, self.conversation)
        json.add(LiveFields.listener, self.listener)
        json.add(Self.status, self.status)
        json.add(Self.joined, Int64(self.joined))
        json.add(Self.timestamp, self.timestamp)
        return json.finished()
    }
}
