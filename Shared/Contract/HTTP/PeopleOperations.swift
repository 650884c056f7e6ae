/// One identity, as operators see it (contract §20.5): numbers and times, never content or other people's ids.
package enum PeopleOperations {
    private static let className = FieldType.text(Limits.rateClassCharacters)
    private static let why = TypedField.text("reason", Limits.banReasonCharacters)

    package struct SetRateClass: HTTPBody {
        /// `nil` takes the class away.
        package let rateClass: String?
        package let reason: String

        private static let rateClass = TypedField.text(
            "rateClass", Limits.rateClassCharacters,
            about: "A class of the setting RATE_CLASSES. Absent: the identity has none from here on."
        ).optional

        package static let schema = ObjectSchema([Self.rateClass.field, PeopleOperations.why.field])

        package init(_ payload: Payload) throws(Payload.Corrupted) {
            self.rateClass = try payload[Self.rateClass]
            self.reason = try payload[PeopleOperations.why]
        }
    }

    private static let rateClass = ObjectSchema([
        Field("name", Self.className),
        Field("isKnown", .bool, about: "Whether the settings name it. One that they do not name counts as none."),
        Field(
            "rates",
            .array(
                of: .object(
                    ObjectSchema([
                        Field("name", .text(1...64)), Field("uses", Self.count, about: "In a minute."),
                        Field("burst", Self.count, about: "At once."),
                    ])), count: 0...Rates.all.count),
            about: "A rate that it does not name is as for everybody."),
        Field(
            "whisperIds", .array(of: .whisperID, count: 0...Limits.rateClassGrantsMax),
            about: "Identities that have it."),
    ])

    private static let count = FieldType.integer(0...Limits.numberMax)
    private static let person = ObjectSchema([
        Field("whisperId", .whisperID), Field("createdAt", .timestamp),
        Field(
            "seenOn", .text(10...10), about: "Day in UTC, as `2026-01-31`, of the newest login or renewal of a session."
        ),
        Field(
            "platform", .choice(["ios", "android"]), .optional, about: "As its device says. Absent without a device."),
        Field("isBanned", .bool),
        Field(
            "rateClass", Self.className, .optional,
            about: "Its class of rates. `GET /admin/rate-classes` says whether the settings know it."),
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
            ]),
        HTTPOperation(
            "listRateClasses", .get, "/admin/rate-classes", about: "Classes of rates, and who has them.",
            origin: .operators, access: .viewer,
            success: .json(
                ObjectSchema([
                    Field(
                        "classes",
                        .array(
                            of: .object(Self.rateClass), count: 0...Limits.rateClassesMax + Limits.rateClassGrantsMax))
                ]),
                sample:
                    #"{"classes":[{"name":"bot","isKnown":true,"rates":[{"name":"send_message","uses":1200,"burst":1200}],"whisperIds":["WSP-JBPU-D452-TLT4"]}]}"#
            )),
        HTTPOperation(
            "setRateClass", .put, "/admin/identities/{whisperId}/rate-class",
            about: "Gives an identity a class of rates, or takes it away. Gateways know within 5 s.",
            origin: .operators, access: .operator, parameters: [.path("whisperId", .whisperID)],
            request: (SetRateClass.schema, #"{"rateClass":"bot","reason":"the choir's reminders"}"#),
            success: .json(
                ObjectSchema([Field("success", .bool, about: "Always `true`.")]), sample: #"{"success":true}"#),
            failures: [
                .init(.invalidPayload, "The body is not valid, or the settings have no such class."),
                .init(.notFound, "There is no such identity."),
                .init(
                    .forbidden,
                    "\(Limits.rateClassGrantsMax) identities and open uses of invitations have a class already."),
            ]),
    ]
}
