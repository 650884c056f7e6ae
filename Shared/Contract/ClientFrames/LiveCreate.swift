/// "This is a conversation of my profile." Answered by `live_conversation` (contract §14.6).
package struct LiveCreate: ClientFrame {
    package let conversation: ConversationID
    package let profile: UUIDText
    package let signPublicKey: Bytes32
    package let encPublicKey: Bytes32
    package let linkVerifier: Bytes32
    package let transcriptDays: Int
    package let info: LiveSigned

    package static let definition = FrameDefinition(
        "live_create",
        about: """
            Makes a live conversation. Its id is made from its keys, and its `ciphertext` is what `look` shows to whoever has the \
            link. The same again gets the same answer and changes nothing.
            """,
        route: .share(of: "conversationId"), rate: Rates.liveControl,
        fields: CommonFields.privileged + [
            LiveFields.conversation.field, LiveFields.profile.field, LiveFields.signPublicKey.field,
            LiveFields.encPublicKey.field, LiveFields.linkVerifier.field, LiveFields.transcriptDays.field,
        ] + LiveSigned.fields(ciphertext: LiveLimits.infoCiphertext),
        refusals: [
            (.invalidPayload, "`conversationId` is not that of these keys, or a key is of low order."),
            (.notFound, "The caller is not a member of the profile."),
            (
                .forbidden,
                "The conversation belongs to another profile, or the profile has \(LiveLimits.conversationsPerProfileMax) already."
            ),
            LiveFields.untimely,
        ],
        samples: [
            CommonFields.sample(
                LiveFields.sampleConversation + "," + LiveFields.sampleProfile + "," + LiveFields.sampleKeys
                    + #","linkVerifier":"\#(LiveFields.sampleSecret)","transcriptDays":30,"# + LiveFields.sampleSigned()
            )
        ])

    package init(
        _ conversation: ConversationID, of profile: UUIDText, signPublicKey: Bytes32, encPublicKey: Bytes32,
        linkVerifier: Bytes32, transcriptDays: Int, info: LiveSigned
    ) {
        (self.conversation, self.profile, self.linkVerifier) = (conversation, profile, linkVerifier)
        (self.signPublicKey, self.encPublicKey) = (signPublicKey, encPublicKey)
        (self.transcriptDays, self.info) = (transcriptDays, info)
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.conversation = try payload[LiveFields.conversation]
        self.profile = try payload[LiveFields.profile]
        guard let sign = Bytes32(try payload[LiveFields.signPublicKey]),
            let enc = Bytes32(try payload[LiveFields.encPublicKey]),
            let verifier = Bytes32(try payload[LiveFields.linkVerifier])
        else { throw Payload.Corrupted() }
        (self.signPublicKey, self.encPublicKey, self.linkVerifier) = (sign, enc, verifier)
        self.transcriptDays = Int(try payload[LiveFields.transcriptDays])
        self.info = try LiveSigned(payload, ciphertext: LiveLimits.infoCiphertext)
    }

    package func write(to json: inout JSONWriter) {
        json.add(LiveFields.conversation, self.conversation)
        json.add(LiveFields.profile, self.profile)
        json.add(LiveFields.signPublicKey, self.signPublicKey.bytes)
        json.add(LiveFields.encPublicKey, self.encPublicKey.bytes)
        json.add(LiveFields.linkVerifier, self.linkVerifier.bytes)
        json.add(LiveFields.transcriptDays, Int64(self.transcriptDays))
        self.info.write(to: &json, ciphertext: LiveLimits.infoCiphertext)
    }
}
