/// One identity, as operators see it (contract §20.5): numbers and times, never content or other people's ids.
package enum PeopleOperations {
    private static let count = FieldType.integer(0...Limits.numberMax)
    private static let person = ObjectSchema([
        Field("whisperId", .whisperID), Field("createdAt", .timestamp),
        Field(
            "seenOn", .text(10...10), about: "Day in UTC, as `2026-01-31`, of the newest login or renewal of a session."
        ),
        Field(
            "platform", .choice(["ios", "android"]), .optional, about: "As its device says. Absent without a device."),
        Field("isBanned", .bool),
        Field("waitingMessages", Self.count, about: "Stored for it and not acknowledged. Counted to 100,000."),
        Field("groups", Self.count),
        Field("files", Self.count, about: "Uploaded by it and stored. Counted to 100,000."),
        Field("fileBytes", Self.count),
    ])

    package static let all = [
        HTTPOperation(
            "getIdentity", .get, "/admin/identities/{whisperId}",
            about: "The server's records of one identity, in numbers. The audit log names an identity that exists.",
            origin: .operators, access: .viewer, parameters: [.path("whisperId", .whisperID)],
            success: .json(
                Self.person,
                sample:
                    #"{"whisperId":"WSP-JBPU-D452-TLT4","createdAt":1730000000000,"seenOn":"2024-10-27","platform":"ios","isBanned":false,"waitingMessages":3,"groups":1,"files":2,"fileBytes":123456}"#
            ),
            failures: [
                .init(.invalidPayload, "Not a Whisper ID."), .init(.notFound, "There is no such identity."),
            ])
    ]
}
