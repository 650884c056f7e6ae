/// "Sign this." Answers a `register_begin` (contract §4).
package struct RegisterChallenge: ServerFrame {
    package let challengeID: UUIDText
    package let challenge: [UInt8]
    package let expiresAt: Timestamp
    /// `open` if it is not there.
    package let registration: RegistrationMode

    private static let challengeID = TypedField.uuid("challengeId")
    private static let challenge = TypedField.base64("challenge", Limits.challengeBytes...Limits.challengeBytes)
    private static let expiresAt = TypedField.timestamp(
        "expiresAt", about: "\(Limits.challengeTTL.components.seconds) s after it was made.")
    private static let registration = TypedField.word(
        "registration", of: [RegistrationMode.invited, .closed].map(\.rawValue),
        about: "Whether somebody new needs an invitation, or cannot register at all. `open` if it is absent."
    ).optional

    package static let definition = ServerFrameDefinition(
        "register_challenge",
        about: """
            What the client is to sign: the 16 ASCII bytes `whisper-register` and 16 random ones. A client refuses a \
            challenge without that prefix, because message signatures are made with the same key. Single use.
            """,
        answers: ["register_begin"],
        fields: [Self.challengeID.field, Self.challenge.field, Self.expiresAt.field, Self.registration.field],
        samples: [
            #"{"challengeId":"5b2c1f9e-1d5c-4a51-8b61-2f4ad4b2d3c0","challenge":"d2hpc3Blci1yZWdpc3RlcgABAgMEBQYHCAkKCwwNDg8=","expiresAt":1730000060000}"#,
            #"{"challengeId":"5b2c1f9e-1d5c-4a51-8b61-2f4ad4b2d3c0","challenge":"d2hpc3Blci1yZWdpc3RlcgABAgMEBQYHCAkKCwwNDg8=","expiresAt":1730000060000,"registration":"invited"}"#,
        ])

    package init(
        challengeID: UUIDText, challenge: [UInt8], expiresAt: Timestamp, registration: RegistrationMode = .open
    ) {
        self.challengeID = challengeID
        self.challenge = challenge
        self.expiresAt = expiresAt
        self.registration = registration
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.challengeID = try payload[Self.challengeID]
        self.challenge = try payload[Self.challenge]
        self.expiresAt = try payload[Self.expiresAt]
        // A word of a newer release: only the answer to the proof tells.
        self.registration = try payload[Self.registration].flatMap { RegistrationMode(rawValue: $0) } ?? .open
    }

    package var json: [UInt8] {
        var json = JSONWriter()
        json.add(Self.challengeID, self.challengeID)
        json.add(Self.challenge, self.challenge)
        json.add(Self.expiresAt, self.expiresAt)
        json.add(Self.registration, self.registration == .open ? nil : self.registration.rawValue)
        return json.finished()
    }
}
