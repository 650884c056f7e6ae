/// "Somebody asks to listen." For the holder; without one, for the connected devices of the profile (contract §14.7).
package struct LiveKnocked: ServerFrame {
    package let conversation: ConversationID
    package let listener: PrincipalID
    package let isKnown: Bool
    package let signPublicKey: Bytes32
    package let encPublicKey: Bytes32
    package let knock: LiveSealedKnock?

    private static let isKnown = TypedField.bool(
        "isKnown", about: "It is admitted, and misses the newest key alone.")
    private static let knock = TypedField<LiveSealedKnock>.object(
        "knock", about: "Absent if a known listener has not knocked."
    ).optional

    package static let definition = ServerFrameDefinition(
        "live_knocked",
        about: """
            Somebody waits. It is told again every \(LiveLimits.knockToldEvery.components.seconds) s while they do. The client checks that the keys are the listener's and that the knock's signature and tag fit, and \
            answers `live_grant` or `live_refuse`.
            """,
        fields: [
            LiveFields.conversation.field, LiveFields.listener.field, Self.isKnown.field,
            LiveFields.signPublicKey.field, LiveFields.encPublicKey.field, Self.knock.field,
        ],
        samples: [
            "{" + LiveFields.sampleConversation + #","listener":"\#(LiveFields.sampleGuest)","isKnown":false,"#
                + LiveFields.sampleKeys + #","knock":"# + LiveSealedKnock.sample + "}",
            "{" + LiveFields.sampleConversation + #","listener":"\#(LiveFields.sampleIdentity)","isKnown":true,"#
                + LiveFields.sampleKeys + "}",
        ])

    package init(
        conversation: ConversationID, listener: PrincipalID, isKnown: Bool, signPublicKey: Bytes32,
        encPublicKey: Bytes32, knock: LiveSealedKnock?
    ) {
        self.conversation = conversation
        self.listener = listener
        self.isKnown = isKnown
        self.signPublicKey = signPublicKey
        self.encPublicKey = encPublicKey
        self.knock = knock
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.conversation = try payload[LiveFields.conversation]
        self.listener = try payload[LiveFields.listener]
        self.isKnown = try payload[Self.isKnown]
        guard let sign = Bytes32(try payload[LiveFields.signPublicKey]),
            let enc = Bytes32(try payload[LiveFields.encPublicKey])
        else { throw Payload.Corrupted() }
        (self.signPublicKey, self.encPublicKey) = (sign, enc)
        self.knock = try payload[Self.knock]
    }

    package var json: [UInt8] {
        var json = JSONWriter(capacity: 1_024)
        json.add(LiveFields.conversation, self.conversation)
        json.add(LiveFields.listener, self.listener)
        json.add(Self.isKnown, self.isKnown)
        json.add(LiveFields.signPublicKey, self.signPublicKey.bytes)
        json.add(LiveFields.encPublicKey, self.encPublicKey.bytes)
        json.add(Self.knock, self.knock)
        return json.finished()
    }
}
