import Contract
import WhisperClient

extension Verb {
    private static let limit = TypedField.integer("limit", 1...Int64(CoreLimits.listMax), about: "Default 50.").optional

    static let chatList = Verb(
        "chat_list", of: "chats", about: "Lists chats with two people in them, the one with the latest message first.",
        [Self.limit.field], type: "chats",
        [
            Field(
                "chats",
                .array(
                    of: .object(
                        ObjectSchema([
                            Field("chat", .whisperID), Field("name", .text(0...10_000), .optional),
                            Field("isStranger", .bool), Field("unread", .integer(0...Int64.max)),
                            Field("latest", .object(Shapes.numberedMessage)),
                        ])), count: 0...CoreLimits.listMax))
        ], errors: [.noIdentity, .store], samples: ("{}", #"{"type":"chats","chats":[]}"#),
        .read { opened, parameters, json in
            let latest = try opened.store.latest(limit: Int(try parameters[Self.limit] ?? 50))
            let unread = try opened.store.unreadCounts()
            let people = try latest.map { try opened.store.contact($0.message.peer) }
            json.add("chats", objects: zip(latest, people)) { chat, json in
                json.add("chat", chat.0.message.peer)
                json.add("name", chat.1?.name)
                json.add("isStranger", chat.1?.isStranger ?? false)
                json.add("unread", Int64(unread[chat.0.message.peer] ?? 0))
                json.add("latest", object: chat.0) { Shapes.write($0, &$1) }
            }
        })
}
