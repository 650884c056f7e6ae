import Contract
import WhisperClient

extension Verb {
    private static let limit = TypedField.integer("limit", 1...Int64(CoreLimits.listMax), about: "Default 50.").optional
    private static let cursor = TypedField.integer("cursor", 1...Int64.max, about: "As the page before gave it.")
        .optional

    static let chatList = Verb(
        "chat_list", of: "chats",
        about: "Lists chats with people and in groups, the one with the latest message first.",
        [Self.limit.field, Self.cursor.field], type: "chats",
        [
            Field(
                "chats",
                .array(
                    of: .object(
                        ObjectSchema([
                            Field("chat", .text(1...64), about: "A Whisper ID, or the id of a group."),
                            Field("kind", .choice(["person", "group"])),
                            Field("name", .text(0...10_000), .optional),
                            Field("isStranger", .bool, about: "A request that nobody has accepted."),
                            Field("isPinned", .bool), Field("isMuted", .bool), Field("isBlocked", .bool),
                            Field("isGone", .bool, .optional, about: "As in `contact_list`."),
                            Field("unread", .integer(0...Int64.max)),
                            Field(
                                "firstUnread", .integer(1...Int64.max), .optional,
                                about: "The number of the oldest of these."),
                            Field(
                                "draft", .text(1...ClientLimits.textBytesMax), .optional,
                                about: "Typed text that is not sent."),
                            Field("latest", .object(Shapes.numberedMessage)),
                            Field(
                                "note", .object(Shapes.chatNote), .optional,
                                about: "What happened last, if it stands behind the latest message."),
                        ])), count: 0...CoreLimits.listMax)),
            Field("cursor", .integer(1...Int64.max), .optional, about: "For the next page, if there may be one."),
        ], errors: [.noIdentity, .store], samples: ("{}", #"{"type":"chats","chats":[]}"#),
        .read { opened, parameters, json in
            let limit = Int(try parameters[Self.limit] ?? 50)
            let latest = try opened.store.latest(limit: limit, before: try parameters[Self.cursor])
            let chats = try latest.map { latest in
                let place = latest.message.place
                let state = try opened.store.chatState(of: place)
                switch place {
                case .direct(let peer):
                    let contact = try opened.store.contacts.contact(peer)
                    return Chat(
                        latest: latest, note: try opened.note(behind: latest), name: contact?.name,
                        contact: contact, state: state, firstUnread: try Self.firstUnread(in: place, state, opened))
                case .group(let id):
                    let title = try opened.store.groups.group(id)?.title
                    return Chat(
                        latest: latest, note: try opened.note(behind: latest),
                        name: title?.isEmpty == true ? nil : title, contact: nil, state: state,
                        firstUnread: try Self.firstUnread(in: place, state, opened))
                }
            }
            json.add("chats", objects: chats) { chat, json in
                json.add("chat", chat.latest.message.place.name)
                if case .group = chat.latest.message.place {
                    json.add("kind", "group")
                } else {
                    json.add("kind", "person")
                }
                json.add("name", chat.name)
                json.add("isStranger", chat.contact?.isStranger ?? false)
                json.add("isPinned", chat.state.isPinned)
                json.add("isMuted", chat.state.isMuted)
                json.add("isBlocked", chat.contact?.isBlocked ?? false)
                if chat.contact?.isGone == true { json.add("isGone", true) }
                json.add("unread", Int64(chat.state.unread))
                if let firstUnread = chat.firstUnread { json.add("firstUnread", firstUnread) }
                json.add("draft", chat.state.draft)
                json.add("latest", object: chat.latest) { Shapes.write($0, &$1) }
                if let note = chat.note { json.add("note", object: note) { Shapes.write($0, &$1) } }
            }
            if latest.count == limit, let last = latest.last { json.add("cursor", last.number) }
        })

    private static func firstUnread(in place: Conversation, _ state: ChatState, _ opened: OpenCore) throws -> Int64? {
        guard state.unread > 0 else { return nil }
        return try opened.store.messages.unread(in: place, after: 0, limit: 1).first?.number
    }
}

extension OpenCore {
    /// The note that stands last behind a message.
    fileprivate func note(behind latest: (number: Int64, message: Message)) throws -> ChatNote? {
        try self.store.latestNote(in: latest.message.place, behind: latest.number)
    }
}

private struct Chat {
    var latest: (number: Int64, message: Message)
    var note: ChatNote?
    var name: String?
    /// `nil` for a group.
    var contact: Contact?
    var state: ChatState
    var firstUnread: Int64?
}
