/// "Sign this to leave." Answers an `account_delete_begin` (contract §20.2).
package struct AccountDeleteChallenge: ServerFrame {
    /// The first half of each challenge. No other challenge begins so, and a client signs no other as an erasure.
    package static let prefix = Array("whisper-erase-v1".utf8)

    package let challengeID: UUIDText
    package let challenge: [UInt8]
    package let expiresAt: Timestamp

    private static let challengeID = TypedField.uuid("challengeId")
    private static let challenge = TypedField.base64("challenge", Limits.challengeBytes...Limits.challengeBytes)
    private static let expiresAt = TypedField.timestamp(
        "expiresAt", about: "\(Limits.erasureChallengeTTL.components.seconds) s after it was made.")

    package static let definition = ServerFrameDefinition(
        "account_delete_challenge",
        about: """
            Bytes for the signature of an erasure: the 16 ASCII bytes `whisper-erase-v1` and 16 random ones. A client refuses \
            a challenge without that prefix, and signs only when its person has confirmed. Single use.
            """,
        answers: ["account_delete_begin"],
        fields: [Self.challengeID.field, Self.challenge.field, Self.expiresAt.field],
        samples: [
            #"{"challengeId":"5b2c1f9e-1d5c-4a51-8b61-2f4ad4b2d3c0","challenge":"d2hpc3Blci1lcmFzZS12MQABAgMEBQYHCAkKCwwNDg8=","expiresAt":1730000300000}"#
        ])

    package init(challengeID: UUIDText, challenge: [UInt8], expiresAt: Timestamp) {
        self.challengeID = challengeID
        self.challenge = challenge
        self.expiresAt = expiresAt
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.challengeID = try payload[Self.challengeID]
        self.challenge = try payload[Self.challenge]
        self.expiresAt = try payload[Self.expiresAt]
    }

    package var json: [UInt8] {
        var json = JSONWriter()
        json.add(Self.challengeID, self.challengeID)
        json.add(Self.challenge, self.challenge)
        json.add(Self.expiresAt, self.expiresAt)
        return json.finished()
    }
}
