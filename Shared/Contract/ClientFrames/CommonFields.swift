/// Fields that many frames share.
package enum CommonFields {
    /// V of the contract.
    package static let versions = [
        Field("protocolVersion", .version), Field("cryptoVersion", .version),
    ]
    /// S of the contract. Optional here because a missing token is NOT_REGISTERED, not INVALID_PAYLOAD.
    package static let sessionToken = Field("sessionToken", .sessionToken, .optional)
    /// P of the contract is this or a session token. Optional for the same reason.
    package static let guestToken = Field("guestToken", .sessionToken, .optional)
    package static let privileged = Self.versions + [Self.sessionToken]
    static let platform = TypedField<Platform>.choice("platform")
    static let client = TypedField<ClientKind>.choice(
        "client", about: "Kind of the program. Counted, and nothing depends on it."
    ).optional
    static let wakeSecret = TypedField<WakeSecret>(
        "wakeSecret", .base64(WakeSecret.byteCount...WakeSecret.byteCount),
        about:
            "Random bytes of this identity on this device. With them each push has the `tag` by which the app knows its identity."
    ) { payload, place in
        payload.withText(place) { Base64.decode($0) }.flatMap { WakeSecret($0) }
    } append: { secret, output in
        output += "\"\(Base64.text(secret.bytes))\"".utf8
    }.clearable
    static let deviceID = TypedField.uuidV4("deviceId", about: "Made once by each installation.")
    /// SIGN of the contract is these two, and the sealed ones.
    package static let parties = [Self.from.field, Self.to.field]
    package static let sealed = [
        Self.timestamp.field, Self.nonce.field, Self.ciphertext.field, Self.signature.field,
    ]
    package static let from = TypedField.whisperID("from", about: "The session's own id.")
    package static let to = TypedField.whisperID("to")
    package static let timestamp = TypedField.timestamp("timestamp", about: "The sender's clock.")
    package static let nonce = TypedField.base64("nonce", Limits.nonce)
    package static let ciphertext = TypedField.base64("ciphertext", Limits.ciphertext)
    package static let signature = TypedField.base64(
        "sig", Limits.signature, about: "Ed25519 over the SHA-256 of the canonical bytes.")
    /// Spec §6.3.
    package static let attachment = ObjectSchema([
        Self.objectKey.field,
        Field("contentType", .text(Limits.contentTypeCharacters)),
        Field("ciphertextSize", .integer(1...Limits.fileBytesMax), about: "In bytes."),
        Field("fileNonce", .base64(Limits.nonce)),
        Field(
            "fileKeyBox",
            .object(
                ObjectSchema([
                    Field("nonce", .base64(Limits.nonce)), Field("ciphertext", .base64(1...256)),
                ])), about: "The file's key, boxed for the recipient."),
    ])
    static let objectKey = TypedField.text(
        "objectKey", 1...128, about: "As `POST /attachments/presign` gave it to the sender.")
    /// Optional fields of every message beside its envelope.
    package static let extras = [
        Field("replyTo", .uuid, .optional, about: "The message that this one answers."),
        Field("reactions", .reactions, .optional),
        Field("attachment", .object(Self.attachment), .optional),
    ]

    /// A sample payload of a privileged frame, with these members behind versions and session.
    static func sample(_ members: String = "") -> String {
        #"{"protocolVersion":1,"cryptoVersion":1,"sessionToken":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA""#
            + (members.isEmpty ? "" : ",") + members + "}"
    }

    /// SIGN in a sample. The signature is well formed, and nobody's.
    static let signedSample =
        #""from":"WSP-JBPU-D452-TLT4","to":"WSP-AAAA-AAAA-AAAA","timestamp":1730000000000,"nonce":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYX","ciphertext":"Y2lwaGVydGV4dA==","sig":"oofhBFIEzdUuTLSm/1BQ3QmWPc97/792V5wdhGBJGGKkzbIP/Z0792BlgcrrNuqW4E6vGKjFkLzHGU0nS80cAg==""#
}
