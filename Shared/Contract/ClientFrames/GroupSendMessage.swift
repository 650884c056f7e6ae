/// "Deliver this to one member of the group." One frame for each recipient, each encrypted and signed by itself
/// (contract §6, spec §7).
package struct GroupSendMessage: EnvelopeFrame {
    package let envelope: SignedEnvelope
    package var groupID: UUIDText { self.envelope.groupID! }

    static let groupID = TypedField.groupID("groupId")

    package static let definition: FrameDefinition = FrameDefinition(
        "group_send_message",
        about: """
            One message for one member of a group: a group message is one such frame for each member. Accepted and answered \
            one by one. The canonical line `toOrGroupId` is the `groupId`.
            """,
        route: .mailbox(of: "to"), rate: Rates.groupEnvelopes,
        fields: CommonFields.privileged + [
            Self.groupID.field,
            Field("messageId", .uuid, about: "May be the same for all recipients."),
        ] + CommonFields.parties + [Field("msgType", .choice(["text", "image", "voice", "file"]))]
            + CommonFields.sealed + CommonFields.extras,
        rules: [
            .bounded("ciphertext", bytes: Limits.textCiphertextBytesMax, while: "msgType", is: "text"),
            .differ("to", "from"),
        ],
        refusals: [
            (.notFound, "There is no such group, recipient or attachment."),
            (.forbidden, "Sender or recipient is not a member now, or the attachment belongs to another identity."),
        ],
        samples: [
            CommonFields.sample(
                #""groupId":"grp-3d6f1f0e-8a55-4c7e-9d55-0c4b7d1f2a61","messageId":"9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a12","msgType":"text","#
                    + CommonFields.signedSample + #","attachment":null"#)
        ])

    private static let places = SignedEnvelope.Places(in: Self.definition.schema)

    /// - Parameter envelope: of group mail.
    package init(_ envelope: SignedEnvelope) { self.envelope = envelope }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.envelope = try SignedEnvelope(payload, Self.places)
    }
}
