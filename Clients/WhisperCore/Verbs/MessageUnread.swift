import Contract
import WhisperClient

extension Verb {
    private static let limit = TypedField.integer("limit", 1...Int64(CoreLimits.listMax), about: "Default 50.").optional

    static let messageUnread = Verb(
        "message_unread", of: "messages",
        about: "Lists everything that came and was not read, mail to groups too, oldest first.",
        [Self.limit.field], type: "unread",
        [
            Field("messages", .array(of: .object(Shapes.message), count: 0...CoreLimits.listMax)),
            Field("count", .integer(0...Int64.max), about: "Of all that is unread."),
        ], errors: [.noIdentity, .store], samples: ("{}", #"{"type":"unread","messages":[],"count":0}"#),
        .read { opened, parameters, json in
            json.add("messages", objects: try opened.store.unread(limit: Int(try parameters[Self.limit] ?? 50))) {
                Shapes.write($0, &$1)
            }
            json.add("count", Int64(try opened.store.unreadCount()))
        })
}
