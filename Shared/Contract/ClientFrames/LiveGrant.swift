/// "These may listen, with this key." Answered by `live_granted` (contract §14.7).
package struct LiveGrant: ClientFrame {
    /// One listener's key.
    package struct Grant: Sendable {
        package let to: PrincipalID
        package let nonce: [UInt8]
        package let ciphertext: [UInt8]
        package let signature: Bytes64

        package init(to listener: PrincipalID, _ grant: LiveSigned) {
            (self.to, self.nonce) = (listener, grant.nonce)
            (self.ciphertext, self.signature) = (grant.ciphertext, grant.signature)
        }
    }

    package let conversation: ConversationID
    package let from: PrincipalID
    package let generation: Int
    package let timestamp: Timestamp
    package let grants: [Grant]

    private static let grants = TypedField<[Grant]>.objects(
        "grants", count: 1...LiveLimits.grantsMax, about: "A BOX for each listener.")

    package static let definition = FrameDefinition(
        "live_grant",
        about: """
            Admits listeners, and gives each the content key of `generation`: the present one, or the next, which is the present \
            one from then on. Each grant has a signature of its own. One bad signature refuses all.
            """,
        route: .share(of: "conversationId"), rate: Rates.liveControl,
        fields: CommonFields.privileged + [
            LiveFields.conversation.field, LiveFields.from.field, LiveFields.generation.field,
            LiveFields.timestamp.field, Self.grants.field,
        ],
        refusals: [
            (.invalidPayload, "A listener stands in it twice."),
            LiveFields.notFound,
            (.authFailed, "A signature does not fit."),
            (
                .forbidden,
                "`generation` is neither the present one nor the next, or the conversation would have too many listeners."
            ),
            LiveFields.untimely,
        ],
        samples: [
            CommonFields.sample(
                LiveFields.sampleConversation
                    + #","from":"\#(LiveFields.sampleIdentity)","generation":2,"timestamp":1730000000000,"grants":[{"to":"\#(LiveFields.sampleGuest)",\#(LiveFields.sampleSealed),"sig":"\#(LiveFields.sampleSignature)"}]"#
            )
        ])

    package init(
        _ conversation: ConversationID, from device: PrincipalID, generation: Int, timestamp: Timestamp, grants: [Grant]
    ) {
        (self.conversation, self.from, self.generation) = (conversation, device, generation)
        (self.timestamp, self.grants) = (timestamp, grants)
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.conversation = try payload[LiveFields.conversation]
        self.from = try payload[LiveFields.from]
        self.generation = Int(try payload[LiveFields.generation])
        self.timestamp = try payload[LiveFields.timestamp]
        self.grants = try payload[Self.grants]
    }

    package func write(to json: inout JSONWriter) {
        json.add(LiveFields.conversation, self.conversation)
        json.add(LiveFields.from, self.from)
        json.add(LiveFields.generation, Int64(self.generation))
        json.add(LiveFields.timestamp, self.timestamp)
        json.add(Self.grants, self.grants)
    }

    /// The grant as the listener gets it, and as its signature covers it.
    package func signed(_ grant: Grant) -> LiveSigned {
        LiveSigned(
            from: self.from, timestamp: self.timestamp, nonce: grant.nonce, ciphertext: grant.ciphertext,
            signature: grant.signature)
    }
}

extension LiveGrant.Grant: ObjectValue {
    private static let ciphertext = LiveFields.ciphertext(LiveLimits.grantCiphertext)
    static let schema = ObjectSchema([
        LiveFields.to.field, LiveFields.nonce.field, Self.ciphertext.field, LiveFields.signature.field,
    ])

    init(_ payload: Payload) throws(Payload.Corrupted) {
        self.to = try payload[LiveFields.to]
        self.nonce = try payload[LiveFields.nonce]
        self.ciphertext = try payload[Self.ciphertext]
        guard let signature = Bytes64(try payload[LiveFields.signature]) else { throw Payload.Corrupted() }
        self.signature = signature
    }

    var json: [UInt8] {
        var json = JSONWriter()
        json.add(LiveFields.to, self.to)
        json.add(LiveFields.nonce, self.nonce)
        json.add(Self.ciphertext, self.ciphertext)
        json.add(LiveFields.signature, self.signature.bytes)
        return json.finished()
    }
}
