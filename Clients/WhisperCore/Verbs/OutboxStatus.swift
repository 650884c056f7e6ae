import Contract
import WhisperClient

extension Verb {
    static let outboxStatus = Verb(
        "outbox_status", of: "messages",
        about:
            "Says what of ours waits to be sent, by chat. Since a ban nothing is sent, also when it is over, before `outbox_resume` or `outbox_discard`.",
        type: "outbox",
        [
            Field("isPaused", .bool, about: "Whether it waits for one of these verbs."),
            Field(
                "chats",
                .array(
                    of: .object(
                        ObjectSchema([
                            Field("chat", .text(1...64), about: "A Whisper ID, or the id of a group."),
                            Field("count", .integer(1...Int64.max), about: "Messages, and changes of messages."),
                        ])), count: 0...ClientLimits.waitingChatsMax)),
        ], errors: [.noIdentity, .store],
        samples: ("{}", #"{"type":"outbox","isPaused":true,"chats":[{"chat":"WSP-AAAA-AAAA-AAAA","count":2}]}"#),
        .read { opened, _, json in
            json.add("isPaused", try opened.store.settings.isOutboxPaused())
            let chats = try opened.store.waitingChats(limit: ClientLimits.waitingChatsMax)
            json.add("chats", objects: chats) { chat, json in
                json.add("chat", chat.place.name)
                json.add("count", chat.count)
            }
        })
}
