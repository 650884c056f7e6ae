/// "This identity misbehaves." Answered by `report_ack` (contract §10).
package struct Report: ClientFrame {
    package enum Reason: String, CaseIterable, Sendable {
        case spam, abuse, other
    }

    package let targetID: WhisperID
    package let reason: Reason
    package let note: String?
    /// A message that the reporter received. Its signature is still to be checked, with the key of its `from`;
    /// `signedPart()` gives it back without fields that nobody has signed.
    package let evidence: SignedEnvelope?

    private static let targetID = TypedField.whisperID("targetId")
    private static let reason = TypedField<Reason>.choice("reason")
    private static let note = TypedField.text("note", Limits.reportNoteCharacters).optional
    private static let evidence = TypedField<SignedEnvelope>.object(
        "evidence", about: "The payload of a `message_received`."
    ).optional

    package static let definition: FrameDefinition = FrameDefinition(
        "report",
        about: """
            Reports an identity to the operators. Evidence is a received message as it came, group mail too: its signature is \
            checked. Kept of it is what the signature covers: `messageId`, `from`, `to`, `groupId`, `timestamp`, `nonce`, \
            `ciphertext` and `sig`. Other fields are dropped. It counts as verified if the server has accepted this message from \
            `from` for the reporter within the last 14 days. Of one reporter \(Limits.openReportsMax) reports may be open, with \
            \(Limits.openEvidenceBytesMax) bytes of evidence.
            """,
        route: .service(.auth), rate: Rates.reports,
        fields: CommonFields.privileged + [
            Self.targetID.field, Self.reason.field, Self.note.field, Self.evidence.field,
        ],
        refusals: [
            (
                .invalidPayload,
                """
                The evidence is forged, or has more than \(Limits.unknownEvidenceBytesMax) bytes and the server does not know the message.
                """
            ), (.notFound, "`targetId` is nobody's."),
            (
                .rateLimited,
                """
                Too many reports of this reporter are open, or too much evidence in them. Or the reporter has no peer, and all identities \
                without one keep as much as they may together.
                """
            ),
        ],
        samples: [
            CommonFields.sample(#""targetId":"WSP-AAAA-AAAA-AAAA","reason":"spam""#),
            CommonFields.sample(
                #""targetId":"WSP-JBPU-D452-TLT4","reason":"abuse","note":"since Monday","evidence":"#
                    + MessageReceived.sample),
        ])

    package init(_ target: WhisperID, _ reason: Reason, note: String?, evidence: SignedEnvelope?) {
        (self.targetID, self.reason, self.note, self.evidence) = (target, reason, note, evidence)
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.targetID = try payload[Self.targetID]
        self.reason = try payload[Self.reason]
        self.note = try payload[Self.note]
        self.evidence = try payload[Self.evidence]
    }

    package func write(to json: inout JSONWriter) {
        json.add(Self.targetID, self.targetID)
        json.add(Self.reason, self.reason)
        json.add(Self.note, self.note)
        json.add(Self.evidence, self.evidence)
    }
}
