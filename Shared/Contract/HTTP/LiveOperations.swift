/// Live conversations over HTTP (contract §14.6).
package enum LiveOperations {
    /// The body of `lookAtConversation`.
    package struct Look: HTTPBody {
        package let linkProof: Bytes32

        package static let schema = ObjectSchema(CommonFields.versions + [LiveFields.linkProof.field])

        package init(_ payload: Payload) throws(Payload.Corrupted) {
            guard let proof = Bytes32(try payload[LiveFields.linkProof]) else { throw Payload.Corrupted() }
            self.linkProof = proof
        }
    }

    private static let ciphertext = LiveFields.ciphertext(LiveLimits.infoCiphertext)
    private static let found = ObjectSchema([
        LiveFields.conversation.field, LiveFields.signPublicKey.field, LiveFields.encPublicKey.field,
        LiveFields.nonce.field, Self.ciphertext.field, LiveFields.state.field, LiveFields.isTranscribed.field,
    ])

    package static func answer(
        conversation: ConversationID, signPublicKey: Bytes32, encPublicKey: Bytes32, nonce: [UInt8],
        ciphertext: [UInt8], state: LiveStreamState, isTranscribed: Bool
    ) -> [UInt8] {
        var json = JSONWriter(capacity: 4_096)
        json.add(LiveFields.conversation, conversation)
        json.add(LiveFields.signPublicKey, signPublicKey.bytes)
        json.add(LiveFields.encPublicKey, encPublicKey.bytes)
        json.add(LiveFields.nonce, nonce)
        json.add(Self.ciphertext, ciphertext)
        json.add(LiveFields.state, state)
        json.add(LiveFields.isTranscribed, isTranscribed)
        return json.finished()
    }

    package static let look = HTTPOperation(
        "lookAtConversation", .post, "/live/{conversationId}/look",
        about: """
            Shows whose conversation a link names, before anybody connects. The client checks that the id is made from the keys, and \
            opens `ciphertext` with the key that the link's secret gives.
            """,
        access: .anybody, rate: Rates.liveLooks, parameters: [.path("conversationId", .lowerCaseUUID)],
        request: (
            Look.schema,
            #"{"protocolVersion":1,"cryptoVersion":1,"linkProof":"\#(LiveFields.sampleSecret)"}"#
        ),
        success: .json(
            Self.found,
            sample: "{" + LiveFields.sampleConversation + "," + LiveFields.sampleKeys + "," + LiveFields.sampleSealed
                + #","state":"live","isTranscribed":true}"#),
        failures: [.init(.notFound, "There is no such conversation, or the proof is wrong.")])
}
