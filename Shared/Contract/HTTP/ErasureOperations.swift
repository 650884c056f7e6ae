/// Erasures, as operators order and watch them (contract §20.5). No answer names a person.
package enum ErasureOperations {
    /// The one who wished an erasure. With `retention` nobody did: the identity was away for too long.
    package enum Origin: String, CaseIterable, Sendable {
        case person, `operator`, guest, retention
    }

    private static let confirm = TypedField.text(
        "confirm", 1...GuestID.textLength, about: "`whisperId` or `guestId` again.")
    private static let sentMail = TypedField<AccountDelete.SentMail>.choice("sentMail")
    private static let why = TypedField.text("reason", Limits.banReasonCharacters)

    package struct Erase: HTTPBody {
        /// `nil` if none is named, or two are.
        package let principal: PrincipalID?
        package let confirmation: String
        package let sentMail: AccountDelete.SentMail
        package let reason: String

        package static let schema = ObjectSchema([
            AdminOperations.whisperID.field, AdminOperations.guestID.field, ErasureOperations.confirm.field,
            ErasureOperations.sentMail.field, ErasureOperations.why.field,
        ])

        package init(_ payload: Payload) throws(Payload.Corrupted) {
            self.principal = try AdminOperations.principal(payload)
            self.confirmation = try payload[ErasureOperations.confirm]
            self.sentMail = try payload[ErasureOperations.sentMail]
            self.reason = try payload[ErasureOperations.why]
        }
    }

    private static let erasure = ObjectSchema([
        Field("erasureId", .uuid), Field("by", .choice(Origin.allCases.map(\.rawValue))),
        Field("decidedAt", .timestamp), Field("finishedAt", .timestamp, .optional),
        Field(
            "waitingFor", .array(of: .text(1...16), count: 0...16),
            about: "Services that have not erased their part yet."),
    ])
    private static let sample =
        #"{"erasureId":"7e4f3f0a-2b0b-4b58-8f7e-6a5d0d1f9c21","by":"person","decidedAt":1730000000000,"waitingFor":["router"]}"#

    package static let all = [
        HTTPOperation(
            "createErasure", .post, "/admin/erasures",
            about: """
                Erases an identity or a guest for good, also a banned one. An identity's id and keys are never taken again; a guest's ban ends \
                with it. The person is told nothing. `sentMail` is of no account for a guest. Asked again while the erasure is open, the answer is the same. The audit log names the erasure, not the person.
                """,
            origin: .operators, access: .operator,
            request: (
                Erase.schema,
                #"{"whisperId":"WSP-JBPU-D452-TLT4","confirm":"WSP-JBPU-D452-TLT4","sentMail":"keep","reason":"the person has asked by letter"}"#
            ),
            success: .json(
                ObjectSchema([Field("erasureId", .uuid), Field("decidedAt", .timestamp)]),
                sample: #"{"erasureId":"7e4f3f0a-2b0b-4b58-8f7e-6a5d0d1f9c21","decidedAt":1730000000000}"#),
            failures: [
                .init(.invalidPayload, "The body is not valid. `confirmationMismatch`: `confirm` names somebody else."),
                .init(.notFound, "There is no such identity or guest."),
                .init(
                    .rateLimited,
                    "Operators have erased \(Limits.erasuresPerHour) identities and guests within the hour, or as many as a day allows."
                ),
            ]),
        HTTPOperation(
            "listErasures", .get, "/admin/erasures", about: "Erasures, newest first, without the ids of persons.",
            origin: .operators, access: .viewer,
            parameters: [
                .query("cursor", .text(Limits.cursorCharacters)), .query("limit", .integer(1...100)),
            ],
            success: .json(
                ObjectSchema([
                    Field("erasures", .array(of: .object(Self.erasure), count: 0...100)),
                    Field("nextCursor", .text(Limits.cursorCharacters), .optional, about: "Only when there is more."),
                ]), sample: #"{"erasures":["# + Self.sample + "]}"),
            failures: [.init(.invalidPayload, "A parameter is not valid.")]),
        HTTPOperation(
            "getErasure", .get, "/admin/erasures/{id}", about: "How far an erasure is.",
            origin: .operators, access: .viewer, parameters: [.path("id", .uuid)],
            success: .json(Self.erasure, sample: Self.sample),
            failures: [.init(.invalidPayload, "Not an id."), .init(.notFound, "There is no such erasure.")]),
    ]
}
