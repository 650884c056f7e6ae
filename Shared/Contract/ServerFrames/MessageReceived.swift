/// "There is mail for you." (contract §5, spec §4.2). The gateway puts `definition.head` before the bytes that
/// `SignedEnvelope.relayed()` has made of the sender's frame, and does not read them.
package struct MessageReceived: ServerFrame {
    package let envelope: SignedEnvelope

    package static let schema = ObjectSchema(
        [
            Field("messageId", .uuid), Field("from", .whisperID), Field("to", .whisperID),
            Field("groupId", .groupID, .optional, about: "Group mail only."),
            Field("msgType", .choice(["text", "image", "voice", "file", "system"])),
        ] + CommonFields.sealed + CommonFields.extras)

    static let sample =
        #"{"messageId":"9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10","#
        + #""msgType":"text","# + CommonFields.signedSample + #","reactions":{},"attachment":null}"#

    package static let definition = ServerFrameDefinition(
        "message_received",
        about: """
            A message, just as it was sent. The recipient verifies the signature, decrypts, stores, and then sends a \
            `delivery_receipt`. Without one it comes again: within 30 s on the same connection, and with `fetch_pending` on \
            every other, for 72 h. A sender's messages come in the order accepted.
            """,
        fields: Self.schema.fields, samples: [Self.sample])

    static let places = SignedEnvelope.Places(in: Self.schema)

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.envelope = try SignedEnvelope(payload, Self.places)
    }

    package var json: [UInt8] { self.envelope.relayed() }
}
