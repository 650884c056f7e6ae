/// "May I listen?" Answered by `live_waiting` or `live_admitted` (contract §14.7).
package struct LiveKnock: ClientFrame {
    package let conversation: ConversationID
    package let linkProof: Bytes32
    package let signPublicKey: Bytes32
    package let encPublicKey: Bytes32
    package let knock: LiveSigned

    package static let definition = FrameDefinition(
        "live_knock",
        about: """
            Asks to be admitted. `ciphertext` is a BOX for the conversation. Whoever is admitted with the newest keys is answered \
            `live_admitted` at once. Everybody else waits until a device of the profile decides, for 10 minutes at most. When \
            \(LiveLimits.waitingMax) wait, the oldest of the address with the most gives way: it is refused with `expired`.
            """,
        route: .share(of: "conversationId"), principal: .either, rate: Rates.liveKnocks,
        addressRate: Rates.liveKnocksOfAddress,
        fields: LiveFields.either + [
            LiveFields.conversation.field, LiveFields.linkProof.field, LiveFields.signPublicKey.field,
            LiveFields.encPublicKey.field,
        ] + LiveSigned.fields(ciphertext: LiveLimits.knockCiphertext),
        refusals: [
            (.authFailed, "The keys are not the caller's."),
            (.notFound, "There is no such conversation, or the proof is wrong."),
            (.forbidden, "The caller is blocked, or is a device of the conversation's own profile."),
            (.rateLimited, "\(LiveLimits.waitingOfAddressMax) of the caller's address wait already."),
            LiveFields.untimely,
        ],
        samples: [
            LiveFields.guestSample(
                LiveFields.sampleConversation + #","linkProof":"\#(LiveFields.sampleSecret)","# + LiveFields.sampleKeys
                    + "," + LiveFields.sampleSigned(from: LiveFields.sampleGuest))
        ])

    package init(
        _ conversation: ConversationID, linkProof: Bytes32, signPublicKey: Bytes32, encPublicKey: Bytes32,
        knock: LiveSigned
    ) {
        (self.conversation, self.linkProof, self.knock) = (conversation, linkProof, knock)
        (self.signPublicKey, self.encPublicKey) = (signPublicKey, encPublicKey)
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.conversation = try payload[LiveFields.conversation]
        guard let proof = Bytes32(try payload[LiveFields.linkProof]),
            let sign = Bytes32(try payload[LiveFields.signPublicKey]),
            let enc = Bytes32(try payload[LiveFields.encPublicKey])
        else { throw Payload.Corrupted() }
        (self.linkProof, self.signPublicKey, self.encPublicKey) = (proof, sign, enc)
        self.knock = try LiveSigned(payload, ciphertext: LiveLimits.knockCiphertext)
    }

    package func write(to json: inout JSONWriter) {
        json.add(LiveFields.conversation, self.conversation)
        json.add(LiveFields.linkProof, self.linkProof.bytes)
        json.add(LiveFields.signPublicKey, self.signPublicKey.bytes)
        json.add(LiveFields.encPublicKey, self.encPublicKey.bytes)
        self.knock.write(to: &json, ciphertext: LiveLimits.knockCiphertext)
    }
}
