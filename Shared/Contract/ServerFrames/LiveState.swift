/// The present state of a stream, for listeners that have joined or wait (contract §14.8).
package struct LiveState: ServerFrame {
    package enum State: String, CaseIterable, Sendable {
        case live, paused, ended
    }

    package let conversation: ConversationID
    package let state: State
    package let reason: LiveEnding?
    package let content: UUIDText?
    package let epoch: Int64
    package let generation: Int
    package let isTranscribed: Bool
    package let timestamp: Timestamp

    private static let conversationID = TypedField.conversationID("conversationId")
    private static let state = TypedField<State>.choice("state")
    private static let reason = TypedField<LiveEnding>.choice("reason", about: "With `ended`.").optional
    private static let contentID = TypedField.lowerCaseUUID("contentId", about: "The stream's.").optional
    private static let epoch = TypedField.integer("epoch", 0...LiveLimits.sequence.upperBound)
    private static let generation = TypedField.integer("generation", LiveLimits.sequence)
    private static let isTranscribed = TypedField.bool("isTranscribed", about: "Lines are kept.")
    private static let timestamp = TypedField.timestamp("timestamp")

    package static let definition = ServerFrameDefinition(
        "live_state",
        about: """
            A stream has begun, goes on with another device or after a pause, is paused, or has ended. It comes before the first packet of \
            each epoch. Listeners stay joined when a stream ends, and hear when the next one begins.
            """,
        fields: [
            Self.conversationID.field, Self.state.field, Self.reason.field, Self.contentID.field, Self.epoch.field,
            Self.generation.field, Self.isTranscribed.field, Self.timestamp.field,
        ],
        samples: [
            #"{"conversationId":"3f0c8a5e-2f0d-1f6b-8d55-0c4b7d1f2a61","state":"live","contentId":"5b0c7a5e-2f0d-4f6b-8d55-0c4b7d1f2a61","epoch":8,"generation":2,"isTranscribed":true,"timestamp":1730000000000}"#,
            #"{"conversationId":"3f0c8a5e-2f0d-1f6b-8d55-0c4b7d1f2a61","state":"ended","reason":"stopped","contentId":"5b0c7a5e-2f0d-4f6b-8d55-0c4b7d1f2a61","epoch":8,"generation":2,"isTranscribed":false,"timestamp":1730000000000}"#,
        ])

    package init(
        conversation: ConversationID, state: State, reason: LiveEnding? = nil, content: UUIDText?, epoch: Int64,
        generation: Int, isTranscribed: Bool, timestamp: Timestamp
    ) {
        self.conversation = conversation
        self.state = state
        self.reason = reason
        self.content = content
        self.epoch = epoch
        self.generation = generation
        self.isTranscribed = isTranscribed
        self.timestamp = timestamp
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.conversation = try payload[Self.conversationID]
        self.state = try payload[Self.state]
        self.reason = try payload[Self.reason]
        self.content = try payload[Self.contentID]
        self.epoch = try payload[Self.epoch]
        self.generation = Int(try payload[Self.generation])
        self.isTranscribed = try payload[Self.isTranscribed]
        self.timestamp = try payload[Self.timestamp]
    }

    package var json: [UInt8] {
        var json = JSONWriter(capacity: 256)
        json.add(Self.conversationID, self.conversation)
        json.add(Self.state, self.state)
        json.add(Self.reason, self.reason)
        json.add(Self.contentID, self.content)
        json.add(Self.epoch, self.epoch)
        json.add(Self.generation, Int64(self.generation))
        json.add(Self.isTranscribed, self.isTranscribed)
        json.add(Self.timestamp, self.timestamp)
        return json.finished()
    }
}
