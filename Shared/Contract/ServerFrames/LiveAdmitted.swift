/// "You may listen, with this key." Answers `live_knock`, or comes when somebody has decided (contract §14.7).
package struct LiveAdmitted: ServerFrame {
    package let conversation: ConversationID
    package let generation: Int
    package let grant: LiveSigned
    package let isTranscribed: Bool

    package static let definition = ServerFrameDefinition(
        "live_admitted",
        about: """
            The listener is admitted. `ciphertext` is a BOX for its key, with the content key of `generation`. The grant may be old: \
            clients do not compare its timestamp.
            """,
        answers: [LiveKnock.definition.type],
        fields: [LiveFields.conversation.field, LiveFields.generation.field]
            + LiveSigned.fields(ciphertext: LiveLimits.grantCiphertext) + [LiveFields.isTranscribed.field],
        samples: [
            "{" + LiveFields.sampleConversation + #","generation":2,"# + LiveFields.sampleSigned()
                + #","isTranscribed":true}"#
        ])

    package init(conversation: ConversationID, generation: Int, grant: LiveSigned, isTranscribed: Bool) {
        self.conversation = conversation
        self.generation = generation
        self.grant = grant
        self.isTranscribed = isTranscribed
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.conversation = try payload[LiveFields.conversation]
        self.generation = Int(try payload[LiveFields.generation])
        self.grant = try LiveSigned(payload, ciphertext: LiveLimits.grantCiphertext)
        self.isTranscribed = try payload[LiveFields.isTranscribed]
    }

    package var json: [UInt8] {
        var json = JSONWriter(capacity: 640)
        json.add(LiveFields.conversation, self.conversation)
        json.add(LiveFields.generation, Int64(self.generation))
        self.grant.write(to: &json, ciphertext: LiveLimits.grantCiphertext)
        json.add(LiveFields.isTranscribed, self.isTranscribed)
        return json.finished()
    }

    /// The grant alone, as it stands in `live_joined`.
    package var grantJSON: [UInt8] {
        var json = JSONWriter(capacity: 512)
        json.add(LiveFields.generation, Int64(self.generation))
        self.grant.write(to: &json, ciphertext: LiveLimits.grantCiphertext)
        return json.finished()
    }
}
