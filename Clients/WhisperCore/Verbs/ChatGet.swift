import Contract
import WhisperClient

extension Verb {
    private static let chat = ChatField("chat")
    private static let before = TypedField.integer(
        "before", 1...Int64.max, about: "Only what is older than this number."
    ).optional
    private static let after = TypedField.integer("after", 0...Int64.max, about: "Only what is newer than this number.")
        .optional
    private static let around = TypedField.integer(
        "around", 1...Int64.max, about: "The message of this number, with those before and after it."
    ).optional
    private static let limit = TypedField.integer("limit", 1...Int64(CoreLimits.listMax), about: "Default 50.").optional

    static let chatGet = Verb(
        "chat_get", of: "chats",
        about: "Reads a chat, oldest first: its latest messages, those before a number, after one, or around one.",
        [Self.chat.field, Self.before.field, Self.after.field, Self.around.field, Self.limit.field], type: "messages",
        [
            Field("messages", .array(of: .object(Shapes.numberedMessage), count: 0...CoreLimits.listMax)),
            Field("hasOlder", .bool, about: "Whether the chat has messages before the first of these."),
            Field("hasNewer", .bool, about: "Whether the chat has messages behind the last of these."),
            Field(
                "notes", .array(of: .object(Shapes.chatNote), count: 1...ClientLimits.chatNotesMax), .optional,
                about: "What happened between these messages: changes of the timer and of the group, and calls."),
        ] + Shapes.chatTimer,
        errors: [.noIdentity, .store],
        samples: (
            #"{"chat":"WSP-AAAA-AAAA-AAAA","limit":20}"#,
            #"{"type":"messages","messages":[],"hasOlder":false,"hasNewer":false}"#
        ),
        .read { opened, parameters, json in
            let (before, after) = (try parameters[Self.before], try parameters[Self.after])
            let (chat, limit) = (try parameters[Self.chat], Int(try parameters[Self.limit] ?? 50))
            let page: [(number: Int64, message: Message)]
            if let around = try parameters[Self.around] {
                guard before == nil, after == nil else {
                    throw CoreError(.invalidField, "stands alone", field: "around")
                }
                let later = try opened.store.messages.page(in: chat, after: around, limit: limit / 2)
                let end = around == .max ? nil : around + 1
                page = try opened.store.messages.page(in: chat, before: end, limit: limit - later.count) + later
            } else {
                page = try opened.store.messages.page(in: chat, before: before, after: after, limit: limit)
            }
            json.add("messages", objects: page) { Shapes.write($0, &$1) }
            // Beside an empty page stands the end from which it was asked.
            let (first, last) = (page.first?.number ?? after.map { $0 + 1 }, page.last?.number ?? before.map { $0 - 1 })
            let messages = opened.store.messages
            let older = try first.map { try !messages.page(in: chat, before: $0, limit: 1).isEmpty } ?? false
            let newer = try last.flatMap { try messages.page(in: chat, after: $0, limit: 1).first?.number }
            json.add("hasOlder", older)
            json.add("hasNewer", newer != nil)
            // Pages that meet each other have each note once.
            let places = (older ? first ?? 0 : 0, newer.map { $0 - 1 } ?? .max)
            let notes = places.0 <= places.1 ? try opened.store.notes(in: chat, places.0...places.1) : []
            if !notes.isEmpty { json.add("notes", objects: notes) { Shapes.write($0, &$1) } }
            Shapes.write(timerOf: try opened.store.chatState(of: chat), &json)
        })
}
