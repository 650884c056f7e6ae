/// "Erase me." Answered by `account_deleted` and close 1000 (contract §20.2).
package struct AccountDelete: ClientFrame {
    /// The fate of mail from the erased identity that still waits for others.
    package enum SentMail: String, CaseIterable, Sendable {
        /// It waits for its recipients, as long as mail does.
        case keep
        /// It goes, and nobody is told.
        case withdraw
    }

    package let challengeID: UUIDText
    package let whisperID: WhisperID
    package let sentMail: SentMail
    package let signature: Bytes64

    private static let challengeID = TypedField.uuid("challengeId")
    private static let whisperID = TypedField.whisperID("whisperId", about: "The session's own id.")
    private static let sentMail = TypedField<SentMail>.choice("sentMail", about: "Default `keep`.").optional
    private static let signature = TypedField.base64(
        "signature", Limits.signature, about: "Ed25519 over the SHA-256 of the statement.")

    package static let definition: FrameDefinition = FrameDefinition(
        "account_delete",
        about: """
            Erases the identity for good. There is no way back and no waiting time: its id and keys are never taken again. The \
            signature is the identity's, over the SHA-256 of these lines, each with a line end: `v1`, `account_delete`, \
            `challengeId`, `whisperId`, `sentMail`, and the challenge in base64. A failed attempt uses the challenge up. The \
            connection closes with 1000. If the answer is lost, a login says `erased`.
            """,
        route: .service(.auth), rate: Rates.account,
        fields: CommonFields.privileged + [
            Self.challengeID.field, Self.whisperID.field, Self.sentMail.field, Self.signature.field,
        ],
        refusals: [
            (.forbidden, "`whisperId` is not the session's."),
            (.authFailed, "The challenge is expired, used or another connection's, or the signature does not fit."),
        ],
        samples: [
            CommonFields.sample(
                #""challengeId":"5b2c1f9e-1d5c-4a51-8b61-2f4ad4b2d3c0","whisperId":"WSP-JBPU-D452-TLT4","signature":"2ePUni8MgyJVKuqqHhKDXQCxMANCJGgyx4FXBVhr6CrvNM0o663HWHiKiw9GnloXe9VONfXOzRhtCRi6z6pgBQ==""#
            ),
            CommonFields.sample(
                #""challengeId":"5b2c1f9e-1d5c-4a51-8b61-2f4ad4b2d3c0","whisperId":"WSP-JBPU-D452-TLT4","sentMail":"withdraw","signature":"2ePUni8MgyJVKuqqHhKDXQCxMANCJGgyx4FXBVhr6CrvNM0o663HWHiKiw9GnloXe9VONfXOzRhtCRi6z6pgBQ==""#
            ),
        ])

    package init(challengeID: UUIDText, whisperID: WhisperID, sentMail: SentMail, signature: Bytes64) {
        (self.challengeID, self.whisperID) = (challengeID, whisperID)
        (self.sentMail, self.signature) = (sentMail, signature)
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.challengeID = try payload[Self.challengeID]
        self.whisperID = try payload[Self.whisperID]
        self.sentMail = try payload[Self.sentMail] ?? .keep
        self.signature = Bytes64(try payload[Self.signature])!
    }

    package func write(to json: inout JSONWriter) {
        json.add(Self.challengeID, self.challengeID)
        json.add(Self.whisperID, self.whisperID)
        json.add(Self.sentMail, self.sentMail)
        json.add(Self.signature, self.signature.bytes)
    }

    /// The bytes whose SHA-256 the identity signs.
    /// - Parameter challenge: the raw bytes of the challenge.
    package static func statement(
        challengeID: UUIDText, whisperID: WhisperID, sentMail: SentMail, challenge: [UInt8]
    ) -> [UInt8] {
        let challenge = String(decoding: Base64.encode(challenge), as: UTF8.self)
        return LiveSeals.lines(["account_delete", "\(challengeID)", "\(whisperID)", sentMail.rawValue, challenge])
    }
}
