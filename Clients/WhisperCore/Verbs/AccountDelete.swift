import Contract
import WhisperClient

extension Verb {
    private static let confirm = TypedField.whisperID(
        "confirm", about: "The identity's own id. Ask the person to type its end before you give it.")
    private static let sentMail = TypedField.word(
        "sentMail", of: AccountDelete.SentMail.allCases.map(\.rawValue),
        about: "Messages that wait for others: `keep` delivers them, `withdraw` removes them. Default `keep`."
    ).optional
    private static let wipe = TypedField.bool(
        "wipe", about: "Whether the folder goes, too: messages, contacts and words. Default `false`."
    ).optional

    static let accountDelete = Verb(
        "account_delete", of: "session",
        about: """
            Erases the identity at the server, for good: its words are worth nothing afterwards. Messages that are queued go out before, for \
            half a minute at most. Everything here stays unless `wipe` is true, and the connection ends with the reason `erased`. After a wipe the \
            core has no identity.
            """,
        [Self.confirm.field, Self.sentMail.field, Self.wipe.field], type: "accountDeleted",
        [
            Field(
                "erasureId", .uuid, .optional,
                about: "Absent: the server had refused a login because the identity was erased before."),
            Field(
                "isWiped", .bool, .optional,
                about: "With `wipe`. `false`: a file could not be deleted. The identity is erased all the same."),
        ],
        errors: [.noIdentity, .invalidField, .offline, .unreachable, .tooMany, .server, .store],
        samples: (
            #"{"confirm":"WSP-JBPU-D452-TLT4"}"#,
            #"{"type":"accountDeleted","erasureId":"7e4f3f0a-2b0b-4b58-8f7e-6a5d0d1f9c21"}"#
        ),
        .leaving { core, opened, parameters, json in
            let confirmed = try parameters[Self.confirm]
            guard confirmed == opened.id else {
                throw CoreError(.invalidField, "is not the identity of this folder", field: "confirm")
            }
            // The schema has taken no other word.
            let sentMail = try parameters[Self.sentMail].flatMap { AccountDelete.SentMail(rawValue: $0) } ?? .keep
            let id = try await opened.with { try await $0.account.leave(confirmed, sentMail: sentMail, $0) }
            if let id { json.add("erasureId", id) }
            if try parameters[Self.wipe] == true { json.add("isWiped", await core.wipe()) }
        })
}
