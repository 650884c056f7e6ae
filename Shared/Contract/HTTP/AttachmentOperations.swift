/// Encrypted blobs: the client talks to the object store itself, with URLs that are signed here (contract §9, spec §6).
package enum AttachmentOperations {
    private static let url = FieldType.text(1...4_096)

    package static let all = [
        HTTPOperation(
            "presignUpload", .post, "/attachments/presign",
            about: """
                A URL to upload one encrypted file to, for 15 minutes. Method, key, `Content-Type` and `Content-Length` are \
                bound to it. At most 1 GB of live uploads for each identity.
                """,
            rate: Rates.presign,
            request: (
                ObjectSchema([
                    Field("contentType", .text(Limits.contentTypeCharacters)),
                    Field(
                        "sizeBytes", .integer(1...Int64.max),
                        about: "Of the ciphertext. image/* to \(Limits.imageBytesMax), audio/* to \(Limits.audioBytesMax), other to \(Limits.fileBytesMax)."),
                    Field("purpose", .choice(["message_attachment"])),
                ]), #"{"contentType":"image/jpeg","sizeBytes":123456,"purpose":"message_attachment"}"#
            ),
            success: .json(
                ObjectSchema([
                    Field("uploadUrl", Self.url), Field("objectKey", .text(1...128), about: "`att/YYYY/MM/{uuid}.bin`"),
                    Field("expiresAt", .timestamp),
                    Field(
                        "headers",
                        .object(ObjectSchema([Field("Content-Type", .text(Limits.contentTypeCharacters))])),
                        about: "To be sent with the upload."),
                ]),
                sample:
                    #"{"uploadUrl":"https://objects.example/att/2026/01/0f8fad5b-d9cb-469f-a165-70867728950e.bin?signature=…","objectKey":"att/2026/01/0f8fad5b-d9cb-469f-a165-70867728950e.bin","expiresAt":1730000900000,"headers":{"Content-Type":"application/octet-stream"}}"#
            ),
            failures: [
                .init(.invalidPayload, "The body is not valid."),
                .init(.invalidPayload, status: 413, "Too large for its class."),
                .init(.forbidden, "The quota is used up."),
            ]),
        HTTPOperation(
            "presignDownload", .get, "/attachments/{objectKey}/download",
            about: "A URL to download from, for 5 minutes: for the uploader, and recipients of a message that points to it.",
            parameters: [.path("objectKey", .text(1...128), about: "Contains slashes: raw and `%2F` both work.")],
            success: .json(
                ObjectSchema([Field("downloadUrl", Self.url), Field("expiresAt", .timestamp)]),
                sample: #"{"downloadUrl":"https://objects.example/att/2026/01/0f8fad5b-d9cb-469f-a165-70867728950e.bin?signature=…","expiresAt":1730000300000}"#),
            failures: [
                .init(.forbidden, "The caller is neither uploader nor linked recipient."),
                .init(.notFound, "There is no such object."),
            ]),
    ]
}
