/// "Here is the guest's challenge, signed." Answered by `guest_ack`, or AUTH_FAILED (contract §14.3).
package struct GuestProof: ClientFrame {
    package let challengeID: UUIDText
    package let signature: Bytes64

    private static let challengeID = TypedField.uuid("challengeId")
    private static let signature = TypedField.base64(
        "signature", Limits.signature, about: "Ed25519 over the challenge's bytes.")

    package static let definition: FrameDefinition = FrameDefinition(
        "guest_proof",
        about: """
            Answers a guest's challenge with a signature over its 32 raw bytes. The same keys are the same guest. Its \
            earlier token and its other connections end (4001). A failed proof uses the challenge up.
            """,
        route: .service(.auth), principal: .anybody,
        fields: CommonFields.versions + [Self.challengeID.field, Self.signature.field],
        refusals: [
            (
                .authFailed,
                """
                The challenge is expired, used, unknown or another connection's; the signature does not fit; or a key is \
                weak. Or the connection belongs to an identity or to another guest: then it is closed (4001).
                """
            ), (.userBanned, "The guest is banned."),
            (.rateLimited, "It would be a new guest, and there are as many as there may be."),
        ],
        samples: [
            #"{"protocolVersion":1,"cryptoVersion":1,"challengeId":"5b2c1f9e-1d5c-4a51-8b61-2f4ad4b2d3c0","signature":"2ePUni8MgyJVKuqqHhKDXQCxMANCJGgyx4FXBVhr6CrvNM0o663HWHiKiw9GnloXe9VONfXOzRhtCRi6z6pgBQ=="}"#
        ])

    package init(challengeID: UUIDText, signature: Bytes64) {
        (self.challengeID, self.signature) = (challengeID, signature)
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.challengeID = try payload[Self.challengeID]
        self.signature = Bytes64(try payload[Self.signature])!
    }

    package func write(to json: inout JSONWriter) {
        json.add(Self.challengeID, self.challengeID)
        json.add(Self.signature, self.signature.bytes)
    }
}
