import Contract
import WhisperClient

extension Verb {
    private static let chat = ChatField("chat", about: "Id of a contact or a group.")
    private static let pinned = TypedField.bool("pinned").optional
    private static let muted = TypedField.bool("muted", about: "Its host rings for nothing in it.").optional

    static let chatMark = Verb(
        "chat_mark", of: "chats",
        about:
            "Pins or mutes a chat: what is given, and nothing else. Marks of a contact go into the backup, those of a group stay on this device.",
        [Self.chat.field, Self.pinned.field, Self.muted.field], type: "chat", Shapes.chatState,
        errors: [.noIdentity, .unknownContact, .store],
        samples: (
            #"{"chat":"grp-3d6f1f0e-8a55-4c7e-9d55-0c4b7d1f2a61","muted":true}"#,
            #"{"type":"chat","chat":"grp-3d6f1f0e-8a55-4c7e-9d55-0c4b7d1f2a61","unread":2,"isPinned":false,"isMuted":true}"#
        ),
        .client { opened, parameters, json in
            let (isPinned, isMuted) = (try parameters[Self.pinned], try parameters[Self.muted])
            let state = try await opened.with {
                try $0.chats.mark(try parameters[Self.chat], isPinned: isPinned, isMuted: isMuted, $0)
            }
            guard let state else { throw CoreError(.unknownContact) }
            Shapes.write(state, &json)
        })
}
