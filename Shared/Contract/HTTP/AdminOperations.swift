/// What operators ask and do (contract §10). Every call is audited.
package enum AdminOperations {
    private static let count = FieldType.integer(0...Int64.max)
    private static let success = HTTPOperation.Success.json(
        ObjectSchema([Field("success", .bool, about: "Always `true`.")]), sample: #"{"success":true}"#)
    private static let statuses = ["open", "dismissed", "warned", "banned"]
    private static let why = Field("reason", .text(1...1_000))
    private static let unknown = HTTPOperation.Failure(.notFound, "There is no such identity.")
    private static let invalid = HTTPOperation.Failure(.invalidPayload, "The body is not valid.")

    private static let report = ObjectSchema([
        Field("id", .uuid), Field("reporterId", .whisperID), Field("targetId", .whisperID),
        Field("reason", .choice(Report.Reason.allCases.map(\.rawValue))),
        Field("note", .text(Limits.reportNoteCharacters), .optional), Field("evidenceVerified", .bool),
        Field("status", .choice(Self.statuses)), Field("createdAt", .timestamp),
        Field("reviewedAt", .timestamp, .optional),
    ])

    package static let all = [
        HTTPOperation(
            "getStats", .get, "/admin/stats", about: "The cluster in numbers.", origin: .operators, access: .viewer,
            success: .json(
                ObjectSchema([
                    Field("users", Self.count), Field("devices", Self.count), Field("sessions", Self.count),
                    Field("online", Self.count), Field("pendingMessages", Self.count), Field("groups", Self.count),
                    Field(
                        "attachments",
                        .object(ObjectSchema([Field("count", Self.count), Field("bytes", Self.count)]))),
                    Field("reportsOpen", Self.count), Field("bansActive", Self.count),
                ]),
                sample:
                    #"{"users":2,"devices":2,"sessions":2,"online":1,"pendingMessages":3,"groups":1,"attachments":{"count":1,"bytes":123456},"reportsOpen":0,"bansActive":0}"#
            )),
        HTTPOperation(
            "listReports", .get, "/admin/reports", about: "Reports, newest first.", origin: .operators, access: .viewer,
            parameters: [
                .query("status", .choice(Self.statuses)), .query("cursor", .text(Limits.cursorCharacters)),
                .query("limit", .integer(1...100)),
            ],
            success: .json(
                ObjectSchema([
                    Field("reports", .array(of: .object(Self.report), count: 0...100)),
                    Field("nextCursor", .text(Limits.cursorCharacters), .optional, about: "Only when there is more."),
                ]),
                sample:
                    #"{"reports":[{"id":"7e4f3f0a-2b0b-4b58-8f7e-6a5d0d1f9c21","reporterId":"WSP-AAAA-AAAA-AAAA","targetId":"WSP-JBPU-D452-TLT4","reason":"spam","evidenceVerified":true,"status":"open","createdAt":1730000000000}]}"#
            ),
            failures: [.init(.invalidPayload, "A parameter is not valid.")]),
        HTTPOperation(
            "reviewReport", .post, "/admin/reports/{id}/review", about: "Decides a report. `ban` bans the target.",
            origin: .operators, access: .operator, parameters: [.path("id", .uuid)],
            request: (
                ObjectSchema([
                    Field("decision", .choice(["dismiss", "warn", "ban"])),
                    Field("note", .text(Limits.reportNoteCharacters), .optional),
                ]), #"{"decision":"dismiss"}"#
            ), success: Self.success, failures: [Self.invalid, .init(.notFound, "There is no such report.")]),
        HTTPOperation(
            "ban", .post, "/admin/ban",
            about: "Bans an identity. Its live session ends within 1 s (USER_BANNED, close 4003), and it cannot log in.",
            origin: .operators, access: .operator,
            request: (
                ObjectSchema([
                    Field("whisperId", .whisperID), Self.why,
                    Field("expiresAt", .timestamp, .optional, about: "For ever if absent."),
                ]), #"{"whisperId":"WSP-AAAA-AAAA-AAAA","reason":"spam","expiresAt":1730604800000}"#
            ), success: Self.success, failures: [Self.invalid, Self.unknown]),
        HTTPOperation(
            "unban", .post, "/admin/unban", about: "Ends a ban.", origin: .operators, access: .operator,
            request: (
                ObjectSchema([Field("whisperId", .whisperID), Self.why]),
                #"{"whisperId":"WSP-AAAA-AAAA-AAAA","reason":"appeal"}"#
            ), success: Self.success, failures: [Self.invalid, Self.unknown]),
        HTTPOperation(
            "listBans", .get, "/admin/bans", about: "Bans that hold now.", origin: .operators, access: .viewer,
            success: .json(
                ObjectSchema([
                    Field(
                        "bans",
                        .array(
                            of: .object(
                                ObjectSchema([
                                    Field("whisperId", .whisperID), Self.why, Field("createdAt", .timestamp),
                                    Field("expiresAt", .timestamp, .optional),
                                ])), count: 0...Int.max))
                ]),
                sample: #"{"bans":[{"whisperId":"WSP-AAAA-AAAA-AAAA","reason":"spam","createdAt":1730000000000}]}"#)),
        HTTPOperation(
            "collectAttachments", .post, "/admin/attachments/gc/run",
            about: "Removes attachments that nobody needs any more, now instead of later.", origin: .operators,
            access: .operator,
            success: .json(
                ObjectSchema([
                    Field("examined", Self.count), Field("deleted", Self.count), Field("bytesFreed", Self.count),
                ]), sample: #"{"examined":10,"deleted":2,"bytesFreed":246912}"#)),
    ]
}
