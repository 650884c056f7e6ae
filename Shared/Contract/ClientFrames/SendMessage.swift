/// "Deliver this to one person." Answered by `message_accepted` after the durable commit (contract §5, spec §4.1).
package struct SendMessage: EnvelopeFrame {
    package let envelope: SignedEnvelope

    package static let definition: FrameDefinition = FrameDefinition(
        "send_message",
        about: """
            One message for one person. The answer comes after the durable commit. Sending it again, with the same `messageId` \
            and `to`, gives the same answer and delivers nothing twice.
            """,
        route: .mailbox(of: "to"), rate: Rates.sendMessage,
        fields: CommonFields.privileged + [
            Field("messageId", .uuid, about: "Unique for this sender and recipient.")
        ] + CommonFields.parties + [Field("msgType", .choice(["text", "image", "voice", "file", "system"]))]
            + CommonFields.sealed + CommonFields.extras,
        rules: [
            .bounded("ciphertext", bytes: Limits.textCiphertextBytesMax, while: "msgType", is: "text"),
            .differ("to", "from"),
        ],
        refusals: [
            (.notFound, "The recipient or the attachment is unknown."),
            (.forbidden, "The recipient is banned, or the attachment belongs to another identity."),
        ],
        samples: [
            #"{"protocolVersion":1,"cryptoVersion":1,"sessionToken":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA","messageId":"9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10","from":"WSP-JBPU-D452-TLT4","to":"WSP-AAAA-AAAA-AAAA","msgType":"text","timestamp":1730000000000,"nonce":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYX","ciphertext":"Y2lwaGVydGV4dA==","sig":"oofhBFIEzdUuTLSm/1BQ3QmWPc97/792V5wdhGBJGGKkzbIP/Z0792BlgcrrNuqW4E6vGKjFkLzHGU0nS80cAg==","replyTo":"5b2c1f9e-1d5c-4a51-8b61-2f4ad4b2d3c0","reactions":{"👍":["WSP-JBPU-D452-TLT4"]},"attachment":null}"#,
            #"{"protocolVersion":1,"cryptoVersion":1,"sessionToken":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA","messageId":"9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a11","from":"WSP-JBPU-D452-TLT4","to":"WSP-AAAA-AAAA-AAAA","msgType":"image","timestamp":1730000000000,"nonce":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYX","ciphertext":"Y2lwaGVydGV4dA==","sig":"oofhBFIEzdUuTLSm/1BQ3QmWPc97/792V5wdhGBJGGKkzbIP/Z0792BlgcrrNuqW4E6vGKjFkLzHGU0nS80cAg==","attachment":{"objectKey":"att/2026/01/0f8fad5b-d9cb-469f-a165-70867728950e.bin","contentType":"image/jpeg","ciphertextSize":123456,"fileNonce":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYX","fileKeyBox":{"nonce":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYX","ciphertext":"Y2lwaGVydGV4dA=="}}}"#,
        ])

    private static let places = SignedEnvelope.Places(in: Self.definition.schema)

    package init(_ envelope: SignedEnvelope) { self.envelope = envelope }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.envelope = try SignedEnvelope(payload, Self.places)
    }
}
