/// "They may listen." Answers `live_grant` (contract §14.7).
package struct LiveGranted: ServerFrame {
    package let conversation: ConversationID
    package let generation: Int
    package let granted: [PrincipalID]
    package let ignored: [PrincipalID]

    private static let granted = TypedField.principalIDs("granted", count: 0...LiveLimits.grantsMax)
    private static let ignored = TypedField.principalIDs(
        "ignored", count: 0...LiveLimits.grantsMax, about: "They neither wait, nor are admitted or blocked.")

    package static let definition = ServerFrameDefinition(
        "live_granted", about: "The grants are kept, and given to their listeners.",
        answers: [LiveGrant.definition.type],
        fields: [
            LiveFields.conversation.field, LiveFields.generation.field, Self.granted.field, Self.ignored.field,
        ],
        samples: [
            "{" + LiveFields.sampleConversation
                + #","generation":2,"granted":["\#(LiveFields.sampleGuest)"],"ignored":["\#(LiveFields.sampleIdentity)"]}"#
        ])

    package init(conversation: ConversationID, generation: Int, granted: [PrincipalID], ignored: [PrincipalID]) {
        self.conversation = conversation
        self.generation = generation
        self.granted = granted
        self.ignored = ignored
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.conversation = try payload[LiveFields.conversation]
        self.generation = Int(try payload[LiveFields.generation])
        self.granted = try payload[Self.granted]
        self.ignored = try payload[Self.ignored]
    }

    package var json: [UInt8] {
        var json = JSONWriter(capacity: 128 + 40 * (self.granted.count + self.ignored.count))
        json.add(LiveFields.conversation, self.conversation)
        json.add(LiveFields.generation, Int64(self.generation))
        json.add(Self.granted, self.granted)
        json.add(Self.ignored, self.ignored)
        return json.finished()
    }
}
