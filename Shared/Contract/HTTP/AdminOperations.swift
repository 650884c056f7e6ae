/// Requests of operators (contract §10). Every call is audited.
package enum AdminOperations {
    /// How a report stands.
    package enum ReportStatus: String, CaseIterable, Sendable {
        case open, dismissed, warned, banned
    }

    /// An operator's decision on a report.
    package enum Decision: String, CaseIterable, Sendable {
        case dismiss, warn, ban
    }

    /// Where a message stands with one of its recipients.
    package enum MessageStatus: String, CaseIterable, Sendable {
        /// Stored, and not acknowledged yet.
        case pending
        case delivered, read, expired
    }

    private static let count = FieldType.integer(0...Limits.numberMax)
    private static let success = HTTPOperation.Success.json(
        ObjectSchema([Field("success", .bool, about: "Always `true`.")]), sample: #"{"success":true}"#)
    /// One of the two is given.
    static let whisperID = TypedField.whisperID("whisperId", about: "This or `guestId`.").optional
    static let guestID = TypedField.guestID("guestId", about: "This or `whisperId`.").optional
    private static let why = TypedField.text("reason", Limits.banReasonCharacters)
    private static let banEnd = TypedField.timestamp(
        "expiresAt", about: "End of the ban, in the future. The ban is permanent if absent."
    ).optional
    private static let unknown = HTTPOperation.Failure(.notFound, "There is no such identity or guest.")
    private static let invalid = HTTPOperation.Failure(.invalidPayload, "The body is not valid.")
    private static let badParameter = HTTPOperation.Failure(.invalidPayload, "A parameter is not valid.")
    private static let cursor = HTTPOperation.Parameter.query("cursor", .text(Limits.cursorCharacters))
    private static let next = Field(
        "nextCursor", .text(Limits.cursorCharacters), .optional, about: "Only when there is more.")

    // Bodies that come in.

    package struct Review: HTTPBody {
        package let decision: Decision
        package let note: String?
        /// The end of the ban, if that is the decision.
        package let expiresAt: Timestamp?

        private static let decision = TypedField<Decision>.choice("decision")
        private static let note = TypedField.text("note", Limits.reportNoteCharacters).optional

        package static let schema = ObjectSchema([
            Self.decision.field, Self.note.field, AdminOperations.banEnd.field,
        ])

        package init(_ payload: Payload) throws(Payload.Corrupted) {
            self.decision = try payload[Self.decision]
            self.note = try payload[Self.note]
            self.expiresAt = try payload[AdminOperations.banEnd]
        }
    }

    package struct Ban: HTTPBody {
        /// `nil` if none is named, or two are.
        package let principal: PrincipalID?
        package let reason: String
        package let expiresAt: Timestamp?

        package static let schema = ObjectSchema([
            AdminOperations.whisperID.field, AdminOperations.guestID.field, AdminOperations.why.field,
            AdminOperations.banEnd.field,
        ])

        package init(_ payload: Payload) throws(Payload.Corrupted) {
            self.principal = try AdminOperations.principal(payload)
            self.reason = try payload[AdminOperations.why]
            self.expiresAt = try payload[AdminOperations.banEnd]
        }
    }

    package struct Unban: HTTPBody {
        /// `nil` if none is named, or two are.
        package let principal: PrincipalID?
        package let reason: String

        package static let schema = ObjectSchema([
            AdminOperations.whisperID.field, AdminOperations.guestID.field, AdminOperations.why.field,
        ])

        package init(_ payload: Payload) throws(Payload.Corrupted) {
            self.principal = try AdminOperations.principal(payload)
            self.reason = try payload[AdminOperations.why]
        }
    }

    static func principal(_ payload: Payload) throws(Payload.Corrupted) -> PrincipalID? {
        switch (try payload[Self.whisperID], try payload[Self.guestID]) {
        case (let identity?, nil): .identity(identity)
        case (nil, let guest?): .guest(guest)
        case (nil, nil), (_?, _?): nil
        }
    }

    private static let report = ObjectSchema([
        Field("id", .uuid), Field("reporterId", .whisperID, .optional, about: "Absent once the reporter was erased."),
        Field("targetId", .whisperID),
        Field("reason", .choice(Report.Reason.allCases.map(\.rawValue))),
        Field("note", .text(Limits.reportNoteCharacters), .optional),
        Field(
            "evidenceVerified", .bool,
            about:
                "The target has signed a message, and the server had accepted it for the reporter. Kept when the evidence is gone."
        ),
        Field("status", .choice(ReportStatus.allCases.map(\.rawValue))), Field("createdAt", .timestamp),
        Field("reviewedAt", .timestamp, .optional),
    ])

    private static let banned = ObjectSchema([
        Self.whisperID.field, Self.guestID.field, Self.why.field, Field("createdAt", .timestamp),
        Field("expiresAt", .timestamp, .optional),
    ])

    private static let event = ObjectSchema([
        Field("at", .timestamp),
        Field("actor", .choice(["operator", "viewer", "nobody", "system"]), about: "`nobody` had no valid token."),
        Field("action", .text(1...64), about: "An operation's name, or what a ban has done."),
        Field("target", .text(1...64), .optional, about: "An identity, a guest, a report or a message."),
        Field("result", .text(1...64), about: "`ok`, or the error code that was answered."),
        Field("note", .text(0...1_000), .optional, about: "The reason that was given."),
    ])

    private static let delivery = ObjectSchema([
        Field("from", .whisperID), Field("to", .whisperID), Field("groupId", .groupID, .optional),
        Field("status", .choice(MessageStatus.allCases.map(\.rawValue))), Field("acceptedAt", .timestamp),
        Field(
            "deliveredAt", .timestamp, .optional,
            about:
                "When the receipt came. Of a message that has been read: until its sender's client knows of the delivery."
        ),
        Field("readAt", .timestamp, .optional), Field("expiredAt", .timestamp, .optional),
        Field(
            "push", .object(Self.pushed), .optional,
            about: "The recipient's last wake-up, if there was one since the message was accepted."),
    ])

    private static let pushed = ObjectSchema([
        Field("at", .timestamp), Field("provider", .text(1...16), about: "`apns`, `fcm`, `webpush`, or `log`."),
        Field("result", .text(1...64), about: "`sent`, or why not."), Field("wakeId", .uuid),
        Field("wokeAt", .timestamp, .optional, about: "When the device was first seen to be back."),
    ])

    private static let deadLetter = ObjectSchema([
        Field("at", .timestamp), Field("whisperId", .whisperID), Field("wakeId", .uuid),
        Field("kind", .choice(["mail", "call", "callOver", "knock"])), Field("provider", .text(1...16)),
        Field("reason", .text(1...64)), Field("tries", Self.count),
    ])

    package static let all = [
        HTTPOperation(
            "getStats", .get, "/admin/stats", about: "The cluster in numbers.", origin: .operators, access: .viewer,
            success: .json(
                ObjectSchema([
                    Field("users", Self.count), Field("devices", Self.count),
                    Field(
                        "devicesByClient",
                        .object(
                            ObjectSchema(
                                (ClientKind.allCases.map(\.rawValue) + ["unknown"]).map { Field($0, Self.count) })),
                        about: "By what their clients said at login (`client`). `unknown`: nothing."),
                    Field("sessions", Self.count),
                    Field("online", Self.count), Field("pendingMessages", Self.count), Field("groups", Self.count),
                    Field(
                        "attachments",
                        .object(ObjectSchema([Field("count", Self.count), Field("bytes", Self.count)]))),
                    Field("reportsOpen", Self.count), Field("bansActive", Self.count),
                    Field(
                        "guests", Self.count, about: "Seen within \(Limits.guestTTL.components.seconds / 86_400) days."),
                    Field("profiles", Self.count, about: "What devices of one person share."),
                    Field("conversations", Self.count, about: "Live conversations."),
                    Field("streams", Self.count, about: "Streams that have not ended."),
                    Field("listeners", Self.count, about: "Who is admitted to a live conversation."),
                    Field("rooms", Self.count, about: "Rooms that have not ended."),
                    Field("transcriptLines", Self.count, about: "Lines that are kept."),
                ]),
                sample:
                    #"{"users":2,"devices":2,"devicesByClient":{"phone":1,"tablet":0,"desktop":0,"web":0,"terminal":1,"daemon":0,"bot":0,"unknown":0},"sessions":2,"online":1,"pendingMessages":3,"groups":1,"attachments":{"count":1,"bytes":123456},"reportsOpen":0,"bansActive":0,"guests":4,"profiles":1,"conversations":2,"streams":1,"listeners":3,"rooms":2,"transcriptLines":31}"#
            )),
        HTTPOperation(
            "listReports", .get, "/admin/reports", about: "Reports, newest first.", origin: .operators, access: .viewer,
            parameters: [
                .query("status", .choice(ReportStatus.allCases.map(\.rawValue))), Self.cursor,
                .query("limit", .integer(1...100)),
            ],
            success: .json(
                ObjectSchema([Field("reports", .array(of: .object(Self.report), count: 0...100)), Self.next]),
                sample:
                    #"{"reports":[{"id":"7e4f3f0a-2b0b-4b58-8f7e-6a5d0d1f9c21","reporterId":"WSP-AAAA-AAAA-AAAA","targetId":"WSP-JBPU-D452-TLT4","reason":"spam","evidenceVerified":true,"status":"open","createdAt":1730000000000}]}"#
            ),
            failures: [Self.badParameter]),
        HTTPOperation(
            "reviewReport", .post, "/admin/reports/{id}/review", about: "Decides a report. `ban` bans the target.",
            origin: .operators, access: .operator, parameters: [.path("id", .uuid)],
            request: (Review.schema, #"{"decision":"dismiss"}"#), success: Self.success,
            failures: [Self.invalid, .init(.notFound, "There is no such report.")]),
        HTTPOperation(
            "ban", .post, "/admin/ban",
            about:
                "Bans an identity or a guest. Its connection ends within 1 s (USER_BANNED, close 4003), and it cannot log in.",
            origin: .operators, access: .operator,
            request: (Ban.schema, #"{"whisperId":"WSP-AAAA-AAAA-AAAA","reason":"spam","expiresAt":1730604800000}"#),
            success: Self.success, failures: [Self.invalid, Self.unknown]),
        HTTPOperation(
            "unban", .post, "/admin/unban", about: "Ends a ban. Sessions that have not expired meanwhile live again.",
            origin: .operators, access: .operator,
            request: (Unban.schema, #"{"whisperId":"WSP-AAAA-AAAA-AAAA","reason":"appeal"}"#),
            success: Self.success, failures: [Self.invalid, Self.unknown]),
        HTTPOperation(
            "listBans", .get, "/admin/bans", about: "Bans that hold now, newest first.", origin: .operators,
            access: .viewer, parameters: [Self.cursor, .query("limit", .integer(1...1_000), about: "Default 1000.")],
            success: .json(
                ObjectSchema([Field("bans", .array(of: .object(Self.banned), count: 0...1_000)), Self.next]),
                sample: #"{"bans":[{"whisperId":"WSP-AAAA-AAAA-AAAA","reason":"spam","createdAt":1730000000000}]}"#),
            failures: [Self.badParameter]),
        HTTPOperation(
            "listAudit", .get, "/admin/audit",
            about: "What operators asked and did, and what bans have done; newest first.", origin: .operators,
            access: .viewer,
            parameters: [.query("target", .text(1...64)), Self.cursor, .query("limit", .integer(1...100))],
            success: .json(
                ObjectSchema([Field("events", .array(of: .object(Self.event), count: 0...100)), Self.next]),
                sample:
                    #"{"events":[{"at":1730000000000,"actor":"operator","action":"ban","target":"WSP-AAAA-AAAA-AAAA","result":"ok","note":"spam"}]}"#
            ),
            failures: [Self.badParameter]),
        HTTPOperation(
            "getMessage", .get, "/admin/messages/{messageId}",
            about: "Where a message stands with each recipient, without its content. Known for 14 days.",
            origin: .operators, access: .viewer, parameters: [.path("messageId", .uuid)],
            success: .json(
                ObjectSchema([
                    Field("messageId", .uuid),
                    Field("deliveries", .array(of: .object(Self.delivery), count: 1...1_000)),
                ]),
                sample:
                    #"{"messageId":"9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10","deliveries":[{"from":"WSP-JBPU-D452-TLT4","to":"WSP-AAAA-AAAA-AAAA","status":"delivered","acceptedAt":1730000000000,"deliveredAt":1730000000900}]}"#
            ),
            failures: [.init(.invalidPayload, "Not an id."), .init(.notFound, "Nobody sent such a message lately.")]),
        HTTPOperation(
            "listDeadLetters", .get, "/admin/push/dead-letters",
            about: "Failed pushes, newest first. Their mail still waits. Known for 30 days.",
            origin: .operators, access: .viewer, parameters: [Self.cursor, .query("limit", .integer(1...100))],
            success: .json(
                ObjectSchema([Field("deadLetters", .array(of: .object(Self.deadLetter), count: 0...100)), Self.next]),
                sample:
                    #"{"deadLetters":[{"at":1730000000000,"whisperId":"WSP-JBPU-D452-TLT4","wakeId":"0d1f3b52-6c1e-4d0a-9a58-3f0f7a6b2c11","kind":"mail","provider":"apns","reason":"unavailable","tries":6}]}"#
            ),
            failures: [Self.badParameter]),
    ]
}
