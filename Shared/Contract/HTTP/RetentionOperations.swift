/// Times for which a server keeps its records, as operators see them (contract §20.9).
package enum RetentionOperations {
    private static let seconds = FieldType.integer(0...Limits.numberMax)

    package static let list = HTTPOperation(
        "listRetention", .get, "/admin/retention",
        about:
            "The server tells which records it keeps, how long, and what ends them. `docs/retention.md` has the same rows.",
        origin: .operators, access: .viewer,
        success: .json(
            ObjectSchema([
                Field(
                    "records",
                    .array(
                        of: .object(
                            ObjectSchema([
                                Field("name", .text(1...64)), Field("about", .text(1...500)),
                                Field(
                                    "places", .array(of: .text(1...64), count: 0...64),
                                    about: "Tables, and beginnings of keys in Redis behind `redis:`."),
                                Field("until", .text(1...200), about: "What the time counts from, or what ends it."),
                                Field("seconds", Self.seconds, .optional, about: "In force, as far as auth is told."),
                                Field("usualSeconds", Self.seconds, .optional, about: "Without a setting."),
                                Field("setting", .text(1...64), .optional),
                                Field("leastSeconds", Self.seconds, .optional),
                                Field("mostSeconds", Self.seconds, .optional),
                                Field("enforcedBy", .text(1...100)),
                            ])), count: 0...100))
            ]),
            sample:
                #"{"records":[{"name":"mail","about":"Mail that waits for its recipient.","places":["router.mailbox"],"until":"after it was accepted, or its receipt","seconds":259200,"usualSeconds":259200,"setting":"PENDING_TTL_SECONDS","leastSeconds":1,"mostSeconds":1123200,"enforcedBy":"router: ExpiryStatement"}]}"#
        ))
}
