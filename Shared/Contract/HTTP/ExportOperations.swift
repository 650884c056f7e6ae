/// Records about one identity, for the person and for operators (contract §20.5). Contents are sealed and not among them, nor is anything
/// that others have said.
package enum ExportOperations {
    private static let why = TypedField.text("reason", Limits.banReasonCharacters)

    package struct Export: HTTPBody {
        /// `nil` if none is named, or two are.
        package let principal: PrincipalID?
        package let reason: String

        package static let schema = ObjectSchema([
            AdminOperations.whisperID.field, AdminOperations.guestID.field, ExportOperations.why.field,
        ])

        package init(_ payload: Payload) throws(Payload.Corrupted) {
            self.principal = try AdminOperations.principal(payload)
            self.reason = try payload[ExportOperations.why]
        }
    }

    private static let count = FieldType.integer(0...Limits.numberMax)
    private static let word = FieldType.text(1...64)
    private static let words = FieldType.text(1...256)
    private static let platform = FieldType.choice(["ios", "android"])

    private static func list(_ name: String, _ fields: [Field], about: String = "") -> Field {
        Field(name, .array(of: .object(ObjectSchema(fields)), count: 0...Limits.exportEntriesMax), about: about)
    }

    private static func time(_ name: String) -> Field { Field(name, .timestamp) }
    private static func timeIfAny(_ name: String) -> Field { Field(name, .timestamp, .optional) }

    private static let ban = Field(
        "ban",
        .object(
            ObjectSchema([
                Field("reason", .text(Limits.banReasonCharacters)), Self.time("createdAt"), Self.timeIfAny("expiresAt"),
            ])), .optional)

    /// The part of the schema `auth`.
    private static let account: [Field] = [
        Self.time("exportedAt"), Field("whisperId", .whisperID), Self.time("createdAt"),
        Field("seenOn", .text(10...10), about: "Day in UTC of the newest login or renewal of a session."),
        Field("signPublicKey", .base64(32...32)), Field("encPublicKey", .base64(32...32)),
        Field("rateClass", .text(Limits.rateClassCharacters), .optional, about: "Its class of rates."),
        Self.list(
            "devices",
            [
                Field("deviceId", .uuid), Field("platform", Self.platform), Field("client", Self.word, .optional),
                Field("hasPushToken", .bool), Field("hasVoipToken", .bool), Self.time("updatedAt"),
            ]),
        Self.list(
            "sessions", [Field("deviceId", .uuid), Field("platform", Self.platform), Self.time("endsAt")]),
        Self.ban,
        Field(
            "backup",
            .object(
                ObjectSchema([
                    Field("sizeBytes", Self.count), Self.time("updatedAt"), Field("nonce", .base64(24...24)),
                    Field("ciphertext", .base64(0...Limits.backupBytesMax)),
                ])), .optional, about: "The contacts, as the device has sealed them."),
        Self.list(
            "profiles",
            [
                Field("profileId", .uuid), Self.time("joinedAt"),
                Self.list(
                    "documents",
                    [Field("name", Self.word), Field("sizeBytes", Self.count), Self.time("updatedAt")]),
            ]),
        Self.list(
            "invitations",
            [
                Self.time("createdAt"), Self.time("expiresAt"), Self.timeIfAny("revokedAt"), Field("isUsed", .bool),
            ], about: "Made by it. Empty unless the server keeps who has made an invitation."),
        Self.list(
            "reportsMade",
            [
                Field("reportId", .uuid), Field("target", .whisperID), Field("reason", Self.word),
                Field("note", .text(Limits.reportNoteCharacters), .optional), Field("isReviewed", .bool),
                Self.time("createdAt"),
            ]),
        Field("reportsAbout", Self.count, about: "Reports about the identity. Their texts are of others."),
    ]

    /// The part of the schema `router`.
    private static let mail: [Field] = [
        Field(
            "waiting", .object(ObjectSchema([Field("messages", Self.count), Field("bytes", Self.count)])),
            about: "Mail that its device has not acknowledged."),
        Self.list(
            "mail", [Field("messageId", .uuid), Field("from", .whisperID), Self.time("acceptedAt")],
            about: "The same, one by one."),
        Self.list(
            "statuses",
            [
                Field("messageId", .uuid), Field("to", .whisperID),
                Field("status", .choice(["delivered", "read", "expired"])), Self.time("at"),
            ], about: "News about sent messages that its device has not heard."),
        Self.list(
            "peers",
            [Field("whisperId", .whisperID), Field("direction", .choice(["sent", "received"])), Self.time("lastAt")],
            about: "People it has written to, or who have written to it, of the last 31 days."),
        Self.list(
            "groups",
            [
                Field("groupId", .uuid), Field("title", .text(Limits.groupTitleCharacters)),
                Field("role", .choice(["owner", "admin", "member"])), Self.time("joinedAt"),
            ]),
        Field("groupEventsWaiting", Self.count),
        Field(
            "strangersAdded", .array(of: .timestamp, count: 0...Limits.exportEntriesMax),
            about: "When it has put strangers into groups: the times that still count."),
    ]

    /// The parts of the schemas `attachments` and `push`.
    private static let files: [Field] = [
        Self.list(
            "files",
            [
                Field("objectKey", .text(1...1_024)), Field("contentType", .text(Limits.contentTypeCharacters)),
                Field("sizeBytes", Self.count), Self.time("createdAt"), Self.timeIfAny("uploadedAt"),
            ]),
        Self.list(
            "filesReceived",
            [
                Field("messageId", .uuid), Self.time("linkedAt"), Self.timeIfAny("acknowledgedAt"),
                Self.timeIfAny("fetchedAt"),
            ]),
        Field(
            "push",
            .object(
                ObjectSchema([
                    Self.time("triedAt"), Field("provider", Self.word), Field("result", .text(0...200)),
                    Self.timeIfAny("sentAt"), Self.timeIfAny("wokeAt"), Field("unanswered", Self.count),
                    Field("failures", Self.count), Self.timeIfAny("dueAt"),
                ])), .optional, about: "The last wake-up."),
        Self.list(
            "deadLetters",
            [
                Self.time("at"), Field("kind", Self.word), Field("provider", Self.word),
                Field("reason", .text(0...200)), Field("tries", Self.count),
            ], about: "Failed pushes."),
    ]

    /// The part of the schema `calls`.
    private static let live: [Field] = [
        Self.list(
            "calls",
            [
                Field("callId", .uuid), Field("with", .whisperID), Field("direction", .choice(["out", "in"])),
                Field("isVideo", .bool), Self.time("startedAt"), Self.timeIfAny("answeredAt"),
                Self.timeIfAny("endedAt"), Field("endReason", Self.word, .optional),
            ]),
        Self.list(
            "conversations",
            [
                Field("conversationId", .uuid), Field("profileId", .uuid), Self.time("createdAt"),
                Field("isCreator", .bool), Field("isLastHolder", .bool),
            ]),
        Self.list(
            "streams",
            [
                Field("conversationId", .uuid), Field("contentId", .uuid), Field("state", Self.word),
                Self.time("startedAt"), Self.time("changedAt"),
            ]),
        Field("grantsSigned", Self.count),
        Self.list(
            "transcripts",
            [
                Field("conversationId", .uuid), Field("contentId", .uuid), Field("lines", Self.count),
                Field("bytes", Self.count),
            ]),
        Self.list(
            "transcriptShares",
            [
                Field("shareId", .uuid), Field("conversationId", .uuid), Field("contentId", .uuid),
                Self.time("expiresAt"),
            ]),
        Field("transcriptBytes", Self.count),
    ]

    /// Where guests come, too.
    private static let visits: [Field] = [
        Self.list(
            "listens",
            [Field("conversationId", .uuid), Field("status", Self.word), Self.time("since"), Self.time("seenAt")]),
        Self.list(
            "rooms",
            [
                Field("roomId", .uuid), Field("isCreator", .bool), Field("isHost", .bool),
                Field("seat", Self.count, .optional), Self.timeIfAny("joinedAt"),
            ]),
        Self.list("roomsBarred", [Field("roomId", .uuid), Self.time("at")]),
    ]

    private static let whole: [Field] = [
        Field("isTruncated", .bool, about: "A list has \(Limits.exportEntriesMax) entries: there may be more."),
        Self.list(
            "erasable", [Field("about", Self.words), Field("when", Self.words)],
            about: "What is erased when the person leaves, and by when."),
    ]

    package static let held = ObjectSchema(Self.account + Self.mail + Self.files + Self.live + Self.visits + Self.whole)

    private static let guest: [Field] = [
        Self.time("exportedAt"), Field("guestId", .guestID), Field("signPublicKey", .base64(32...32)),
        Field("encPublicKey", .base64(32...32)), Self.time("seenAt"), Self.time("tokenEndsAt"), Self.ban,
    ]

    package static let heldOfGuest = ObjectSchema(Self.guest + Self.visits + Self.whole)

    /// The one or the other: fields that not both have are optional.
    private static let heldOfEither: ObjectSchema = {
        let (one, other) = (Self.held.fields, Self.heldOfGuest.fields)
        let names = Set(one.map(\.name)).intersection(other.map(\.name))
        let all = one + other.filter { !names.contains($0.name) }
        return ObjectSchema(
            all.map { names.contains($0.name) ? $0 : Field($0.name, $0.type, .optional, about: $0.about) })
    }()

    /// An object with the member `erasable`.
    package static let erasable: String = {
        var json = JSONWriter()
        json.add("erasable", objects: KeptRecord.all.filter { $0.erased != nil }) { record, json in
            json.add("about", record.about)
            json.add("when", record.erased)
        }
        return String(decoding: json.finished(), as: UTF8.self)
    }()

    private static let sample =
        #"{"exportedAt":1730000000000,"whisperId":"WSP-JBPU-D452-TLT4","createdAt":1720000000000,"seenOn":"2024-10-27","signPublicKey":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=","encPublicKey":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=","devices":[],"sessions":[],"profiles":[],"invitations":[],"reportsMade":[],"reportsAbout":0,"waiting":{"messages":0,"bytes":0},"mail":[],"statuses":[],"peers":[{"whisperId":"WSP-AAAA-AAAA-AAAA","direction":"sent","lastAt":1729900000000}],"groups":[],"groupEventsWaiting":0,"strangersAdded":[],"files":[],"filesReceived":[],"deadLetters":[],"calls":[],"conversations":[],"streams":[],"listens":[],"grantsSigned":0,"transcripts":[],"transcriptShares":[],"transcriptBytes":0,"rooms":[],"roomsBarred":[],"isTruncated":false,"erasable":[{"about":"Digests of tokens.","when":"at once"}]}"#

    private static let about = """
        Lists end at \(Limits.exportEntriesMax) entries; `isTruncated` says that one did. The ledger of messages is not in it: it is kept by message, and only a walk \
        through everybody's would find one person's.
        """

    package static let all = [
        HTTPOperation(
            "exportAccount", .get, "/account/export",
            about: """
                Everything that the server holds about the caller, but sealed contents and records of others. \(Self.about)
                """,
            rate: Rates.accountExport, success: .json(Self.held, sample: Self.sample),
            headers: [("Content-Disposition", "`attachment`, with a file name.")]),
        HTTPOperation(
            "createExport", .post, "/admin/exports",
            about:
                "The same document about any identity, also a banned one, or about a guest. The person is told nothing. The audit log names whom it is about and the reason.",
            origin: .operators, access: .operator,
            request: (Export.schema, #"{"whisperId":"WSP-JBPU-D452-TLT4","reason":"the person has asked by letter"}"#),
            success: .json(Self.heldOfEither, sample: Self.sample),
            headers: [("Content-Disposition", "`attachment`, with a file name.")],
            failures: [
                .init(.invalidPayload, "The body is not valid."),
                .init(.notFound, "There is no such identity or guest."),
                .init(
                    .rateLimited,
                    "More than \(Rates.exports.uses) at once, or than one each six minutes behind them."
                ),
            ]),
    ]
}
