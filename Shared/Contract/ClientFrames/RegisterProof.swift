/// "Here is the challenge, signed." Answered by `register_ack`, or AUTH_FAILED (contract §4).
package struct RegisterProof: Sendable {
    package let challengeID: UUIDText
    package let deviceID: UUIDText
    package let platform: Platform
    package let whisperID: WhisperID?
    package let encPublicKey: Bytes32
    package let signPublicKey: Bytes32
    package let signature: Bytes64
    package let pushToken: String?
    package let voipToken: String?

    package static let definition: FrameDefinition = FrameDefinition(
        "register_proof",
        about: """
            Answers the challenge with a signature over its 32 raw bytes. Known keys log their identity in, whether or not \
            `whisperId` is given: the seed phrase alone restores an identity. New keys become a new identity. An older session \
            of the identity ends (4001). A failed proof uses the challenge up.
            """,
        route: .service(.auth), principal: .anybody,
        fields: CommonFields.versions + [
            Field("challengeId", .uuid), CommonFields.deviceID, CommonFields.platform,
            Field("whisperId", .whisperID, .optional),
            Field(
                "encPublicKey", .base64(Limits.publicKey),
                about: "X25519, in canonical form: bit 255 clear, below 2^255 - 19."),
            Field("signPublicKey", .base64(Limits.publicKey), about: "Ed25519."),
            Field("signature", .base64(Limits.signature), about: "Ed25519 over the challenge's bytes."),
            Field("pushToken", .text(Limits.pushTokenCharacters), .optional),
            Field("voipToken", .text(Limits.pushTokenCharacters), .optional, about: "iOS only."),
        ],
        refusals: [
            (
                .authFailed,
                """
                The challenge is expired, used, unknown or another connection's; the signature does not fit; a key is weak; \
                or the keys are not the identity's.
                """
            ), (.userBanned, "The identity is banned."),
        ],
        samples: [
            #"{"protocolVersion":1,"cryptoVersion":1,"challengeId":"5b2c1f9e-1d5c-4a51-8b61-2f4ad4b2d3c0","deviceId":"0f8fad5b-d9cb-469f-a165-70867728950e","platform":"ios","encPublicKey":"sDIJgXeFcL7/uym2I3ZCEVuAxxT/L6/TmbmJ3JS6ijg=","signPublicKey":"vZMMu/hWu3byxfZMBioplEzGBlulS5r3JC0r/eXX2Vs=","signature":"2ePUni8MgyJVKuqqHhKDXQCxMANCJGgyx4FXBVhr6CrvNM0o663HWHiKiw9GnloXe9VONfXOzRhtCRi6z6pgBQ==","pushToken":"made-up"}"#
        ])

    package init(_ payload: Payload) {
        let frame = Self.definition
        func optional<T>(_ name: String, _ read: (Int) -> T) -> T? {
            let field = frame.field(name)
            return payload.has(field) ? read(field) : nil
        }
        self.challengeID = payload.uuid(frame.field("challengeId"))
        self.deviceID = payload.uuid(frame.field("deviceId"))
        self.platform = Platform(rawValue: payload.text(frame.field("platform")))!
        self.whisperID = optional("whisperId", payload.whisperID)
        self.encPublicKey = Bytes32(payload.bytes(frame.field("encPublicKey")))!
        self.signPublicKey = Bytes32(payload.bytes(frame.field("signPublicKey")))!
        self.signature = Bytes64(payload.bytes(frame.field("signature")))!
        self.pushToken = optional("pushToken", payload.text)
        self.voipToken = optional("voipToken", payload.text)
    }
}
