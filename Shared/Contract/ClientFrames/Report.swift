/// "This identity misbehaves." Answered by `report_ack` (contract §10).
package struct Report: Sendable {
    package enum Reason: String, CaseIterable, Sendable {
        case spam, abuse, other
    }

    package let targetID: WhisperID
    package let reason: Reason
    package let note: String?
    /// A message that the reporter received. Its signature is still to be checked, with the key of its `from`;
    /// `signedPart()` gives it back without fields that nobody has signed.
    package let evidence: SignedEnvelope?

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
            Field("targetId", .whisperID), Field("reason", .choice(Reason.allCases.map(\.rawValue))),
            Field("note", .text(Limits.reportNoteCharacters), .optional),
            Field(
                "evidence", .object(MessageReceived.schema), .optional,
                about: "The payload of a `message_received`."),
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

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        let frame = Self.definition
        self.targetID = payload.whisperID(frame.field("targetId"))
        self.reason = Reason(rawValue: payload.text(frame.field("reason")))!
        let note = frame.field("note")
        self.note = payload.has(note) ? payload.text(note) : nil
        if let message = try payload.object(frame.field("evidence")) {
            self.evidence = try SignedEnvelope(message, MessageReceived.places)
        } else {
            self.evidence = nil
        }
    }
}
