/// Answers about logins, sessions and devices (contract §4).
package enum LoginFrames {
    private static let session = [
        Field("sessionToken", .text(Limits.sessionTokenCharacters), about: "Opaque: `A-Z a-z 0-9 _ -`. Goes into every later payload."),
        Field("sessionExpiresAt", .timestamp), Field("serverTime", .timestamp),
    ]
    private static let success = [Field("success", .bool, about: "Always `true`.")]

    package static let registerChallenge = ServerFrameDefinition(
        "register_challenge",
        about: """
            What the client is to sign: the 16 ASCII bytes `whisper-register` and 16 random ones. A client refuses a \
            challenge without that prefix, because message signatures are made with the same key. Single use.
            """,
        answers: ["register_begin"],
        fields: [
            Field("challengeId", .uuid),
            Field("challenge", .base64(Limits.challengeBytes...Limits.challengeBytes)),
            Field("expiresAt", .timestamp, about: "\(Limits.challengeTTL.components.seconds) s after it was made."),
        ],
        samples: [
            #"{"challengeId":"5b2c1f9e-1d5c-4a51-8b61-2f4ad4b2d3c0","challenge":"d2hpc3Blci1yZWdpc3RlcgABAgMEBQYHCAkKCwwNDg8=","expiresAt":1730000060000}"#
        ])

    package static let registerAck = ServerFrameDefinition(
        "register_ack", about: "The login succeeded; the connection belongs to the identity from here on.",
        answers: ["register_proof"],
        fields: Self.success + [
            Field("whisperId", .whisperID, about: "The identity's id; a client checks that it belongs to its keys.")
        ] + Self.session,
        samples: [
            #"{"success":true,"whisperId":"WSP-JBPU-D452-TLT4","sessionToken":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA","sessionExpiresAt":1730604800000,"serverTime":1730000000000}"#
        ])

    package static let sessionRefreshAck = ServerFrameDefinition(
        "session_refresh_ack", about: "The next session token.", answers: ["session_refresh"], fields: Self.session,
        samples: [
            #"{"sessionToken":"BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB","sessionExpiresAt":1730604800000,"serverTime":1730000000000}"#
        ])

    package static let logoutAck = ServerFrameDefinition(
        "logout_ack", about: "The session and the device's push tokens are gone. The connection closes with 1000.",
        answers: ["logout"], fields: Self.success, samples: [#"{"success":true}"#])

    package static let tokensUpdated = ServerFrameDefinition(
        "tokens_updated", about: "The push tokens are stored.", answers: ["update_tokens"], fields: Self.success,
        samples: [#"{"success":true}"#])

    package static let pong = ServerFrameDefinition(
        "pong", about: "The server's time.", answers: ["ping"],
        fields: [
            Field("timestamp", .timestamp, .optional, about: "As the `ping` had it."), Field("serverTime", .timestamp),
        ],
        samples: [#"{"timestamp":1730000000000,"serverTime":1730000000042}"#, #"{"serverTime":1730000000042}"#])
}
