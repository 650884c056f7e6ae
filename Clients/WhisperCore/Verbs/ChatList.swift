import Contract
import WhisperClient

extension Verb {
    private static let limit = TypedField.integer("limit", 1...Int64(CoreLimits.listMax), about: "Default 50.").optional
    private static let cursor = TypedField.integer("cursor", 1...Int64.max, about: "As the page before gave it.")
        .optional

    static let chatList = Verb(
        "chat_list", of: "chats", about: "Lists chats with two people in them, the one with the latest message first.",
        [Self.limit.field, Self.cursor.field], type: "chats",
        [
            Field(
                "chats",
                .array(
                    of: .object(
                        ObjectSchema([
                            Field("chat", .whisperID), Field("name", .text(0...10_000), .optional),
                            Field("isStranger", .bool, about: "A request that nobody has accepted."),
                            Field("isPinned", .bool), Field("isMuted", .bool), Field("isBlocked", .bool),
                            Field("unread", .integer(0...Int64.max)),
                            Field(
                                "draft", .text(1...ClientLimits.textBytesMax), .optional,
                                about: "What was typed and not sent."),
                            Field("latest", .object(Shapes.numberedMessage)),
                        ])), count: 0...CoreLimits.listMax)),
            Field("cursor", .integer(1...Int64.max), .optional, about: "For the next page, if there may be one."),
        ], errors: [.noIdentity, .store], samples: ("{}", #"{"type":"chats","chats":[]}"#),
        .read { opened, parameters, json in
            let limit = Int(try parameters[Self.limit] ?? 50)
            let latest = try opened.store.latest(limit: limit, before: try parameters[Self.cursor])
            let unread = try opened.store.unreadCounts()
            let chats = try latest.map { chat in
                let peer = chat.message.peer
                return (chat, try opened.store.contact(peer), try opened.store.draft(with: peer))
            }
            json.add("chats", objects: chats) { chat, json in
                let (latest, contact, draft) = chat
                json.add("chat", latest.message.peer)
                json.add("name", contact?.name)
                json.add("isStranger", contact?.isStranger ?? false)
                json.add("isPinned", contact?.isPinned ?? false)
                json.add("isMuted", contact?.isMuted ?? false)
                json.add("isBlocked", contact?.isBlocked ?? false)
                json.add("unread", Int64(unread[latest.message.peer] ?? 0))
                json.add("draft", draft)
                json.add("latest", object: latest) { Shapes.write($0, &$1) }
            }
            if latest.count == limit, let last = latest.last { json.add("cursor", last.number) }
        })
}
