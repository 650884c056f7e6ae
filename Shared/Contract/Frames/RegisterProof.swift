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
        "register_proof", route: .service(.auth), privileged: false,
        fields: CommonFields.versions + [
            Field("challengeId", .uuid), CommonFields.deviceID, CommonFields.platform,
            Field("whisperId", .whisperID, .optional),
            Field("encPublicKey", .base64(Limits.publicKeyBytes...Limits.publicKeyBytes)),
            Field("signPublicKey", .base64(Limits.publicKeyBytes...Limits.publicKeyBytes)),
            Field("signature", .base64(Limits.signatureBytes...Limits.signatureBytes)),
            Field("pushToken", .text(Limits.pushTokenCharacters), .optional),
            Field("voipToken", .text(Limits.pushTokenCharacters), .optional),
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
