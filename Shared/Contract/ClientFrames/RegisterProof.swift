/// "Here is the challenge, signed." Answered by `register_ack`, or AUTH_FAILED (contract §4).
package struct RegisterProof: ClientFrame {
    package let challengeID: UUIDText
    package let deviceID: UUIDText
    package let platform: Platform
    package let whisperID: WhisperID?
    package let encPublicKey: Bytes32
    package let signPublicKey: Bytes32
    package let signature: Bytes64
    package let pushToken: String?
    package let voipToken: String?
    package let invitation: String?
    package let client: ClientKind?
    package let wakeSecret: UpdateTokens.Change<WakeSecret>

    private static let challengeID = TypedField.uuid("challengeId")
    private static let whisperID = TypedField.whisperID("whisperId").optional
    private static let encPublicKey = TypedField.base64(
        "encPublicKey", Limits.publicKey, about: "X25519, in canonical form: bit 255 clear, below 2^255 - 19.")
    private static let signPublicKey = TypedField.base64("signPublicKey", Limits.publicKey, about: "Ed25519.")
    private static let signature = TypedField.base64(
        "signature", Limits.signature, about: "Ed25519 over the challenge's bytes.")
    private static let pushToken = TypedField.text("pushToken", Limits.pushTokenCharacters).optional
    private static let voipToken = TypedField.text("voipToken", Limits.pushTokenCharacters, about: "iOS only.").optional
    private static let invitation = TypedField.text(
        "invitation", InvitationToken.characters,
        about: "16 bytes in base64url. Only new keys need it, and only where registration is by invitation."
    ).optional

    package static let definition: FrameDefinition = FrameDefinition(
        "register_proof",
        about: """
            Answers the challenge with a signature over its 32 raw bytes. Known keys log their identity in, whether or not \
            `whisperId` is given: the seed phrase alone restores an identity. New keys become a new identity. An older session \
            of the identity ends (4001). A failed proof uses the challenge up.
            """,
        route: .service(.auth), principal: .anybody,
        fields: CommonFields.versions + [
            Self.challengeID.field, CommonFields.deviceID.field, CommonFields.platform.field, Self.whisperID.field,
            Self.encPublicKey.field, Self.signPublicKey.field, Self.signature.field, Self.pushToken.field,
            Self.voipToken.field, Self.invitation.field, CommonFields.client.field,
            CommonFields.wakeSecret.field,
        ],
        refusals: [
            (
                .authFailed,
                """
                The challenge is expired, used, unknown or another connection's; the signature does not fit; a key is weak; \
                or the keys are not the identity's.
                """
            ), (.userBanned, "The identity is banned."),
            (
                .forbidden,
                """
                Only new keys are refused so, and `reason` says why. `registrationClosed`: nobody new may register. \
                `invitationNeeded`: an invitation is missing. `invitationInvalid`: it is unknown, expired, revoked or used up.
                """
            ),
        ],
        samples: [
            #"{"protocolVersion":1,"cryptoVersion":1,"challengeId":"5b2c1f9e-1d5c-4a51-8b61-2f4ad4b2d3c0","deviceId":"0f8fad5b-d9cb-469f-a165-70867728950e","platform":"ios","encPublicKey":"sDIJgXeFcL7/uym2I3ZCEVuAxxT/L6/TmbmJ3JS6ijg=","signPublicKey":"vZMMu/hWu3byxfZMBioplEzGBlulS5r3JC0r/eXX2Vs=","signature":"2ePUni8MgyJVKuqqHhKDXQCxMANCJGgyx4FXBVhr6CrvNM0o663HWHiKiw9GnloXe9VONfXOzRhtCRi6z6pgBQ==","pushToken":"made-up"}"#,
            #"{"protocolVersion":1,"cryptoVersion":1,"challengeId":"5b2c1f9e-1d5c-4a51-8b61-2f4ad4b2d3c0","deviceId":"0f8fad5b-d9cb-469f-a165-70867728950e","platform":"ios","encPublicKey":"sDIJgXeFcL7/uym2I3ZCEVuAxxT/L6/TmbmJ3JS6ijg=","signPublicKey":"vZMMu/hWu3byxfZMBioplEzGBlulS5r3JC0r/eXX2Vs=","signature":"2ePUni8MgyJVKuqqHhKDXQCxMANCJGgyx4FXBVhr6CrvNM0o663HWHiKiw9GnloXe9VONfXOzRhtCRi6z6pgBQ==","invitation":"AAECAwQFBgcICQoLDA0ODw"}"#,
            #"{"protocolVersion":1,"cryptoVersion":1,"challengeId":"5b2c1f9e-1d5c-4a51-8b61-2f4ad4b2d3c0","deviceId":"0f8fad5b-d9cb-469f-a165-70867728950e","platform":"android","encPublicKey":"sDIJgXeFcL7/uym2I3ZCEVuAxxT/L6/TmbmJ3JS6ijg=","signPublicKey":"vZMMu/hWu3byxfZMBioplEzGBlulS5r3JC0r/eXX2Vs=","signature":"2ePUni8MgyJVKuqqHhKDXQCxMANCJGgyx4FXBVhr6CrvNM0o663HWHiKiw9GnloXe9VONfXOzRhtCRi6z6pgBQ==","client":"daemon"}"#,
            #"{"protocolVersion":1,"cryptoVersion":1,"challengeId":"5b2c1f9e-1d5c-4a51-8b61-2f4ad4b2d3c0","deviceId":"0f8fad5b-d9cb-469f-a165-70867728950e","platform":"ios","encPublicKey":"sDIJgXeFcL7/uym2I3ZCEVuAxxT/L6/TmbmJ3JS6ijg=","signPublicKey":"vZMMu/hWu3byxfZMBioplEzGBlulS5r3JC0r/eXX2Vs=","signature":"2ePUni8MgyJVKuqqHhKDXQCxMANCJGgyx4FXBVhr6CrvNM0o663HWHiKiw9GnloXe9VONfXOzRhtCRi6z6pgBQ==","pushToken":"made-up","wakeSecret":"AAECAwQFBgcICQoLDA0ODw=="}"#,
        ])

    package init(
        challengeID: UUIDText, deviceID: UUIDText, platform: Platform, whisperID: WhisperID?, encPublicKey: Bytes32,
        signPublicKey: Bytes32, signature: Bytes64, pushToken: String? = nil, voipToken: String? = nil,
        invitation: String? = nil, client: ClientKind? = nil, wakeSecret: UpdateTokens.Change<WakeSecret> = .keep
    ) {
        (self.challengeID, self.deviceID, self.platform, self.whisperID) = (challengeID, deviceID, platform, whisperID)
        (self.encPublicKey, self.signPublicKey, self.signature) = (encPublicKey, signPublicKey, signature)
        (self.pushToken, self.voipToken, self.invitation) = (pushToken, voipToken, invitation)
        (self.client, self.wakeSecret) = (client, wakeSecret)
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        guard let encPublicKey = Bytes32(try payload[Self.encPublicKey]),
            let signPublicKey = Bytes32(try payload[Self.signPublicKey]),
            let signature = Bytes64(try payload[Self.signature])
        else { throw Payload.Corrupted() }
        self.init(
            challengeID: try payload[Self.challengeID], deviceID: try payload[CommonFields.deviceID],
            platform: try payload[CommonFields.platform], whisperID: try payload[Self.whisperID],
            encPublicKey: encPublicKey, signPublicKey: signPublicKey, signature: signature,
            pushToken: try payload[Self.pushToken], voipToken: try payload[Self.voipToken],
            invitation: try payload[Self.invitation], client: try payload[CommonFields.client],
            wakeSecret: try payload[CommonFields.wakeSecret])
    }

    package func write(to json: inout JSONWriter) {
        json.add(Self.challengeID, self.challengeID)
        json.add(CommonFields.deviceID, self.deviceID)
        json.add(CommonFields.platform, self.platform)
        json.add(Self.whisperID, self.whisperID)
        json.add(Self.encPublicKey, self.encPublicKey.bytes)
        json.add(Self.signPublicKey, self.signPublicKey.bytes)
        json.add(Self.signature, self.signature.bytes)
        json.add(Self.pushToken, self.pushToken)
        json.add(Self.voipToken, self.voipToken)
        json.add(Self.invitation, self.invitation)
        json.add(CommonFields.client, self.client)
        json.add(change: CommonFields.wakeSecret, self.wakeSecret)
    }
}
