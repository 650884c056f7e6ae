/// The contacts backup: one encrypted blob for each identity, which the server cannot read (contract §8, spec §14).
package enum BackupOperations {
    private static let path = "/backup/contacts"
    private static let entityTag = (name: "ETag", about: "The version of the backup, for `If-Match`.")
    private static let success = Field("success", .bool, about: "Always `true`.")
    private static let blob = Self.blob(ciphertextBytesMax: Limits.backupBytesMax)
    private static let blobSample = #""nonce":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYX","ciphertext":"Y2lwaGVydGV4dA==""#

    /// The body of an upload.
    package static let upload = Self.upload(ciphertextBytesMax: Limits.backupBytesMax)

    /// The same with another bound, for a service to whom too large (413) is something else than malformed (400).
    package static func upload(ciphertextBytesMax: Int) -> ObjectSchema {
        ObjectSchema(CommonFields.versions + Self.blob(ciphertextBytesMax: ciphertextBytesMax))
    }

    private static func blob(ciphertextBytesMax: Int) -> [Field] {
        [CommonFields.nonce.field, Self.ciphertext(bytesMax: ciphertextBytesMax).field]
    }

    package static func ciphertext(bytesMax: Int) -> TypedField<[UInt8]> { .base64("ciphertext", 1...bytesMax) }

    package static let all = [
        HTTPOperation(
            "putContactsBackup", .put, Self.path,
            about:
                "Stores the backup, in place of the one before. Refused for a session that is not the identity's live one.",
            rate: Rates.backup,
            parameters: [
                .header(
                    "If-Match", .text(Limits.ifMatchCharacters),
                    about: "Store only if this is still the backup's version; `*`: if there is one.")
            ],
            request: (Self.upload, #"{"protocolVersion":1,"cryptoVersion":1,\#(Self.blobSample)}"#),
            success: .json(
                ObjectSchema([Self.success, Field("updatedAt", .timestamp)]),
                sample: #"{"success":true,"updatedAt":1730000000000}"#),
            headers: [Self.entityTag],
            failures: [
                .init(.invalidPayload, "The body or `If-Match` is not valid."),
                .init(.invalidPayload, status: 412, "The backup is not the one that `If-Match` names."),
                .init(
                    .invalidPayload, status: 413,
                    """
                    More than \(Limits.backupBytesMax) bytes of ciphertext, or more than \(Limits.strangerBackupBytesMax) of an \
                    identity without any peer: nobody has written to it and got an answer from it, each within 30 days.
                    """),
                .init(
                    .rateLimited,
                    "The caller has no peer, and all identities without one keep as much as they may together."),
            ]),
        HTTPOperation(
            "getContactsBackup", .get, Self.path, about: "The backup as it was stored.", rate: Rates.backup,
            success: .json(
                ObjectSchema(Self.blob + [Field("updatedAt", .timestamp)]),
                sample: #"{\#(Self.blobSample),"updatedAt":1730000000000}"#),
            headers: [Self.entityTag], failures: [.init(.notFound, "There is none.")]),
        HTTPOperation(
            "deleteContactsBackup", .delete, Self.path, about: "Removes the backup, if there is one.",
            rate: Rates.backup, success: .json(ObjectSchema([Self.success]), sample: #"{"success":true}"#)),
    ]
}
