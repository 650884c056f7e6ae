/// Encrypted blobs: the client talks to the object store itself, with URLs that are signed here (contract §9, spec §6).
///
/// Beside the frozen single upload there is one in parts, so that what a bad mobile link breaks goes on where it broke: the parts
/// that have arrived stay, `listParts` says which, and gives fresh URLs for the others.
package enum AttachmentOperations {
    private static let url = FieldType.text(1...4_096)
    private static let count = FieldType.integer(0...Limits.numberMax)
    private static let objectKey = HTTPOperation.Parameter.path(
        "objectKey", .text(Limits.objectKeyCharacters), about: "Contains slashes: raw and `%2F` both work.")

    /// The body of `presignUpload`.
    package struct Presign: HTTPBody {
        package let contentType: String
        /// Size of the ciphertext.
        package let sizeBytes: Int64
        package let isMultipart: Bool

        private static let contentType = TypedField.text("contentType", Limits.contentTypeCharacters)
        private static let sizeBytes = TypedField.integer(
            "sizeBytes", 1...Int64.max,
            about:
                "Of the ciphertext. image/* to \(Limits.imageBytesMax), audio/* to \(Limits.audioBytesMax), other to \(Limits.fileBytesMax)."
        )
        private static let multipart = TypedField.bool("multipart", about: "Ask for URLs of parts as well.").optional

        package static let schema = ObjectSchema([
            Self.contentType.field, Self.sizeBytes.field, Field("purpose", .choice(["message_attachment"])),
            Self.multipart.field,
        ])

        package init(_ payload: Payload) throws(Payload.Corrupted) {
            self.contentType = try payload[Self.contentType]
            self.sizeBytes = try payload[Self.sizeBytes]
            self.isMultipart = try payload[Self.multipart] ?? false
        }
    }

    private static let headers = Field(
        "headers", .object(ObjectSchema([Field("Content-Type", .text(Limits.contentTypeCharacters))])),
        about: "To be sent with every upload, a part's too.")

    private static let parts = Field(
        "parts",
        .array(
            of: .object(
                ObjectSchema([
                    Field("number", .integer(1...Int64(Limits.uploadPartsMax))),
                    Field("sizeBytes", .integer(1...Limits.uploadPartBytes), about: "Bound to the URL."),
                    Field("uploadUrl", Self.url),
                ])), count: 0...Limits.uploadPartsMax),
        about: "Parts that have not arrived, in order. Part n holds the bytes from (n - 1) × `partBytes` on.")

    private static let partBytes = Field(
        "partBytes", .integer(1...Limits.numberMax), about: "Size of every part but the last.")

    private static let storeIsFull = HTTPOperation.Failure(
        .internalError, status: 503, "The store has no room for uploads now. `Retry-After` says when to come again.")

    package static let all = [
        HTTPOperation(
            "presignUpload", .post, "/attachments/presign",
            about: """
                A URL to upload one encrypted file to, for 15 minutes. Method, key, `Content-Type` and `Content-Length` are \
                bound to it. At most 1 GB of live uploads for each identity. With `multipart` the file may go up in parts \
                instead, in any order and several at once, and is one file after `completeUpload`.
                """,
            rate: Rates.presign,
            request: (
                Presign.schema, #"{"contentType":"image/jpeg","sizeBytes":123456,"purpose":"message_attachment"}"#
            ),
            success: .json(
                ObjectSchema([
                    Field("uploadUrl", Self.url),
                    Field("objectKey", .text(Limits.objectKeyCharacters), about: "`att/YYYY/MM/{uuid}.bin`"),
                    Field("expiresAt", .timestamp), Self.headers,
                    Field(
                        "multipart", .object(ObjectSchema([Self.partBytes, Self.parts])), .optional,
                        about: "Only if it was asked for."),
                ]),
                sample:
                    #"{"uploadUrl":"https://objects.example/att/2026/01/0f8fad5b-d9cb-469f-a165-70867728950e.bin?signature=…","objectKey":"att/2026/01/0f8fad5b-d9cb-469f-a165-70867728950e.bin","expiresAt":1730000900000,"headers":{"Content-Type":"application/octet-stream"}}"#
            ),
            failures: [
                .init(.invalidPayload, "The body is not valid."),
                .init(.invalidPayload, status: 413, "Too large for its class."),
                .init(.forbidden, "The quota is used up."),
                .init(
                    .rateLimited,
                    "The caller has no peer, and all identities without one keep as much as they may together."),
                Self.storeIsFull,
            ]),
        HTTPOperation(
            "presignDownload", .get, "/attachments/{objectKey}/download",
            about:
                "A URL to download from, for 5 minutes: for the uploader, and recipients of a message that points to it.",
            parameters: [Self.objectKey],
            success: .json(
                ObjectSchema([Field("downloadUrl", Self.url), Field("expiresAt", .timestamp)]),
                sample:
                    #"{"downloadUrl":"https://objects.example/att/2026/01/0f8fad5b-d9cb-469f-a165-70867728950e.bin?signature=…","expiresAt":1730000300000}"#
            ),
            failures: [
                .init(.forbidden, "The caller is neither uploader nor linked recipient."),
                .init(.notFound, "There is no such object."),
            ]),
        HTTPOperation(
            "listParts", .post, "/attachments/{objectKey}/parts",
            about: """
                Where an upload in parts stands, and fresh URLs for what is missing, for 15 minutes. Until 24 hours after the \
                presign, for its uploader.
                """,
            rate: Rates.presign, parameters: [Self.objectKey],
            success: .json(
                ObjectSchema([
                    Field("expiresAt", .timestamp), Self.headers, Self.partBytes,
                    Field(
                        "received",
                        .array(of: .integer(1...Int64(Limits.uploadPartsMax)), count: 0...Limits.uploadPartsMax),
                        about: "Numbers of the parts that have arrived, in order."),
                    Self.parts,
                ]),
                sample:
                    #"{"expiresAt":1730000900000,"headers":{"Content-Type":"application/octet-stream"},"partBytes":5242880,"received":[1,2],"parts":[{"number":3,"sizeBytes":100,"uploadUrl":"https://objects.example/att/2026/01/0f8fad5b-d9cb-469f-a165-70867728950e.bin?part=3&signature=…"}]}"#
            ),
            failures: [
                .init(.invalidPayload, "The upload was not presigned in parts, or is complete."),
                .init(.forbidden, "The caller is not the uploader, or the quota is used up."),
                .init(.notFound, "There is no such object."), Self.storeIsFull,
            ]),
        HTTPOperation(
            "completeUpload", .post, "/attachments/{objectKey}/complete",
            about: """
                Says that everything is uploaded: parts become one file, and are checked to be all there. Repeating it gives the \
                same answer. A single upload may be confirmed so too, but need not be.
                """,
            rate: Rates.presign, parameters: [Self.objectKey],
            success: .json(
                ObjectSchema([Field("success", .bool), Field("sizeBytes", .integer(1...Limits.numberMax))]),
                sample: #"{"success":true,"sizeBytes":10485860}"#),
            failures: [
                .init(.invalidPayload, "The upload is incomplete."),
                .init(.forbidden, "The caller is not the uploader."), .init(.notFound, "There is no such object."),
            ]),
    ]

    /// The body of `auditAttachments`.
    package struct Audit: HTTPBody {
        package let isFixing: Bool

        private static let fix = TypedField.bool(
            "fix", about: "Remove what was found: leaked objects, and dangling rows."
        ).optional

        package static let schema = ObjectSchema([Self.fix.field])

        package init(_ payload: Payload) throws(Payload.Corrupted) { self.isFixing = try payload[Self.fix] ?? false }
    }

    /// Findings listed in one answer; all are counted.
    package static let findingsMax = 1_000

    private static let keys = FieldType.array(of: .text(1...1_024), count: 0...Self.findingsMax)

    package static let operators = [
        HTTPOperation(
            "collectAttachments", .post, "/admin/attachments/gc/run",
            about: "Removes attachments that nobody needs any more, now instead of later.", origin: .operators,
            access: .operator,
            success: .json(
                ObjectSchema([
                    Field("examined", Self.count), Field("deleted", Self.count), Field("bytesFreed", Self.count),
                ]), sample: #"{"examined":10,"deleted":2,"bytesFreed":246912}"#)),
        HTTPOperation(
            "auditAttachments", .post, "/admin/attachments/audit",
            about: "Compares the object store with the table of attachments, one by one.", origin: .operators,
            access: .operator, request: (Audit.schema, #"{"fix":false}"#),
            success: .json(
                ObjectSchema([
                    Field("objects", Self.count, about: "In the store."), Field("rows", Self.count),
                    Field("leaked", Self.count, about: "Objects that no row knows, older than an hour."),
                    Field("leakedBytes", Self.count), Field("leakedKeys", Self.keys),
                    Field("dangling", Self.count, about: "Rows of uploaded files that the store does not have."),
                    Field("danglingKeys", Self.keys), Field("fixed", Self.count),
                ]),
                sample:
                    #"{"objects":10,"rows":9,"leaked":1,"leakedBytes":123456,"leakedKeys":["att/2026/01/0f8fad5b-d9cb-469f-a165-70867728950e.bin"],"dangling":0,"danglingKeys":[],"fixed":0}"#
            ), failures: [.init(.invalidPayload, "The body is not valid.")]),
    ]
}
