/// "You may not listen." (contract §14.7)
package struct LiveRefused: ServerFrame {
    package enum Reason: String, CaseIterable, Sendable {
        case declined, passcode, removed
        /// The server's own: nobody has decided in time.
        case expired
        /// The server's own: the conversation is no more.
        case deleted
    }

    package let conversation: ConversationID
    package let reason: Reason
    package let timestamp: Timestamp
    /// `nil`: the server's own.
    package let refusal: LiveSigned?

    private static let reason = TypedField<Reason>.choice("reason")
    private static let from = LiveFields.from.about("").optional
    private static let nonce = LiveFields.nonce.optional
    private static let ciphertext = LiveFields.ciphertext(LiveLimits.refusalCiphertext).optional
    private static let signature = LiveFields.signature.optional

    package static let definition = ServerFrameDefinition(
        "live_refused",
        about: """
            The listener is sent away, by a device of the profile with a BOX for it, or by the server with reason and timestamp only.
            """,
        answers: [LiveKnock.definition.type],
        fields: [
            LiveFields.conversation.field, Self.reason.field, LiveFields.timestamp.about("").field, Self.from.field,
            Self.nonce.field, Self.ciphertext.field, Self.signature.field,
        ],
        samples: [
            "{" + LiveFields.sampleConversation + #","reason":"removed","# + LiveFields.sampleSigned() + "}",
            "{" + LiveFields.sampleConversation + #","reason":"expired","timestamp":1730000600000}"#,
        ])

    package init(conversation: ConversationID, reason: Reason, timestamp: Timestamp, refusal: LiveSigned?) {
        self.conversation = conversation
        self.reason = reason
        self.timestamp = timestamp
        self.refusal = refusal
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.conversation = try payload[LiveFields.conversation]
        self.reason = try payload[Self.reason]
        self.timestamp = try payload[LiveFields.timestamp]
        let isSigned = try payload[Self.signature] != nil
        self.refusal = isSigned ? try LiveSigned(payload, ciphertext: LiveLimits.refusalCiphertext) : nil
    }

    package var json: [UInt8] {
        var json = JSONWriter(capacity: 512)
        json.add(LiveFields.conversation, self.conversation)
        json.add(Self.reason, self.reason)
        if let refusal {
            refusal.write(to: &json, ciphertext: LiveLimits.refusalCiphertext)
        } else {
            json.add(LiveFields.timestamp, self.timestamp)
        }
        return json.finished()
    }
}
