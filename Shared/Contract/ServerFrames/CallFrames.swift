/// What happens to calls (contract §7). Forwarded frames are the client's own, less versions and session.
package enum CallFrames {
    private static let forwarded = [Field("callId", .uuid)] + [Field("from", .whisperID), Field("to", .whisperID)]
        + CommonFields.sealed
    private static func sample(_ more: String = "") -> String {
        #"{"callId":"c1d2e3f4-0f7c-4e51-9d0c-3c7d1d2b7a10","# + CommonFields.signedSample + more + "}"
    }

    package static let incoming = ServerFrameDefinition(
        "call_incoming", about: "Somebody calls. Kept until the ringing ends, and sent again when the callee binds.",
        fields: Self.forwarded + [Field("isVideo", .bool)], samples: [Self.sample(#","isVideo":false"#)])

    package static let ringing = ServerFrameDefinition(
        "call_ringing", about: "The call has reached the callee's device.", answers: ["call_initiate"],
        fields: [Field("callId", .uuid), Field("from", .whisperID, about: "The callee."), Field("timestamp", .timestamp)],
        samples: [
            #"{"callId":"c1d2e3f4-0f7c-4e51-9d0c-3c7d1d2b7a10","from":"WSP-AAAA-AAAA-AAAA","timestamp":1730000000000}"#
        ])

    package static let answered = ServerFrameDefinition(
        "call_answer", about: "The callee has taken the call.", fields: Self.forwarded, samples: [Self.sample()])

    package static let candidate = ServerFrameDefinition(
        "call_ice_candidate", about: "One network path to the other side.", fields: Self.forwarded,
        samples: [Self.sample()])

    package static let ended = ServerFrameDefinition(
        "call_end",
        about: """
            The call is over: forwarded whole from the other side, or the server's own with the first three fields only. \
            `busy` from the server refuses a `call_initiate`, and then has its `requestId`.
            """,
        fields: [
            Field("callId", .uuid), Field("reason", .choice(CallEnd.reasons), .optional), Field("timestamp", .timestamp),
            Field("from", .whisperID, .optional), Field("to", .whisperID, .optional),
            Field("nonce", .base64(Limits.nonce), .optional), Field("ciphertext", .base64(Limits.ciphertext), .optional),
            Field("sig", .base64(Limits.signature), .optional),
        ],
        samples: [
            #"{"callId":"c1d2e3f4-0f7c-4e51-9d0c-3c7d1d2b7a10","reason":"timeout","timestamp":1730000045000}"#,
            Self.sample(#","reason":"ended""#),
        ])

    package static let turnCredentials = ServerFrameDefinition(
        "turn_credentials", about: "Relays, and credentials for them.", answers: ["get_turn_credentials"],
        fields: [
            Field("urls", .array(of: .text(1...512), count: 1...16)),
            Field("username", .text(1...128), about: "`{unix expiry}:{pseudonym}`. The same within an hour."),
            Field("credential", .base64(20...20), about: "HMAC-SHA1 of the user name."),
            Field("ttl", .integer(1...Int64.max), about: "In seconds."),
        ],
        samples: [
            #"{"urls":["turn:turn.example:3478?transport=udp"],"username":"1730043200:d41d8cd98f00b204","credential":"AAECAwQFBgcICQoLDA0ODxAREhM=","ttl":43200}"#
        ])
}
