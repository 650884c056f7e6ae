/// A live conversation as its profile's devices see it. Answers `live_create` and `live_update` (contract §14.6).
package struct LiveConversation: ServerFrame, ObjectValue {
    package let conversation: ConversationID
    package let profile: UUIDText
    package let state: LiveStreamState
    package let epoch: Int64
    package let generation: Int
    package let content: UUIDText?
    package let holder: WhisperID?
    package let transcriptDays: Int
    package let createdAt: Timestamp
    package let updatedAt: Timestamp

    private static let content = LiveFields.content.optional
    private static let holder = TypedField.whisperID("holder", about: "The device that whispers.").optional
    private static let createdAt = TypedField.timestamp("createdAt")
    private static let updatedAt = TypedField.timestamp("updatedAt")

    static let schema = ObjectSchema([
        LiveFields.conversation.field, LiveFields.profile.field, LiveFields.state.field, LiveFields.epoch.field,
        LiveFields.generation.field, Self.content.field, Self.holder.field, LiveFields.transcriptDays.field,
        Self.createdAt.field, Self.updatedAt.field,
    ])

    static let sample =
        "{" + LiveFields.sampleConversation + "," + LiveFields.sampleProfile
        + #","state":"live","epoch":7,"generation":2,"# + LiveFields.sampleContent
        + #","holder":"WSP-JBPU-D452-TLT4","transcriptDays":30,"createdAt":1730000000000,"updatedAt":1730000000000}"#

    package static let definition = ServerFrameDefinition(
        "live_conversation", about: "The conversation as it is now.", answers: ["live_create", "live_update"],
        fields: Self.schema.fields, samples: [Self.sample])

    package init(
        conversation: ConversationID, profile: UUIDText, state: LiveStreamState, epoch: Int64, generation: Int,
        content: UUIDText?, holder: WhisperID?, transcriptDays: Int, createdAt: Timestamp, updatedAt: Timestamp
    ) {
        self.conversation = conversation
        self.profile = profile
        self.state = state
        self.epoch = epoch
        self.generation = generation
        self.content = content
        self.holder = holder
        self.transcriptDays = transcriptDays
        self.createdAt = createdAt
        self.updatedAt = updatedAt
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.conversation = try payload[LiveFields.conversation]
        self.profile = try payload[LiveFields.profile]
        self.state = try payload[LiveFields.state]
        self.epoch = try payload[LiveFields.epoch]
        self.generation = Int(try payload[LiveFields.generation])
        self.content = try payload[Self.content]
        self.holder = try payload[Self.holder]
        self.transcriptDays = Int(try payload[LiveFields.transcriptDays])
        self.createdAt = try payload[Self.createdAt]
        self.updatedAt = try payload[Self.updatedAt]
    }

    package var json: [UInt8] {
        var json = JSONWriter(capacity: 384)
        json.add(LiveFields.conversation, self.conversation)
        json.add(LiveFields.profile, self.profile)
        json.add(LiveFields.state, self.state)
        json.add(LiveFields.epoch, self.epoch)
        json.add(LiveFields.generation, Int64(self.generation))
        json.add(Self.content, self.content)
        json.add(Self.holder, self.holder)
        json.add(LiveFields.transcriptDays, Int64(self.transcriptDays))
        json.add(Self.createdAt, self.createdAt)
        json.add(Self.updatedAt, self.updatedAt)
        return json.finished()
    }
}
