import Contract
import WhisperClient

extension Verb {
    private static let text = TypedField.text(
        "text", 1...CoreLimits.textBytesMax, about: "The line that a person has written.")
    private static let chat = ChatField("chat", about: "The chat in which it was written.").optional

    static let commandParse = Verb(
        "command_parse", of: "upkeep",
        about:
            "Says which verb a line of a person stands for, and does nothing. It knows `/msg WHO TEXT`, `/block WHO`, `/link [WHO]` and `/search TEXT`. `/edit MESSAGEID TEXT` and `/delete MESSAGEID` name a message. In a chat it also knows `/reply MESSAGEID TEXT`, `/react MESSAGEID [EMOJI]`, `/file PATH`, and a text without a slash. `WHO` is a contact's name, a Whisper ID or, for `/msg`, the id of a group.",
        [Self.text.field, Self.chat.field], type: "command",
        [
            Field("verb", .text(1...64)),
            Field(
                "parameters",
                .object(
                    ObjectSchema([
                        Field("to", .text(1...64), .optional), Field("chat", .text(1...64), .optional),
                        Field("whisperId", .whisperID, .optional), Field("messageId", .uuid, .optional),
                        Field("replyTo", .uuid, .optional), Field("reaction", .text(0...64), .optional),
                        Field("text", .text(1...CoreLimits.textBytesMax), .optional),
                        Field("path", .text(1...CoreLimits.textBytesMax), .optional),
                    ])), about: "Parameters of the verb, which checks them."),
        ], errors: [.noIdentity, .unknownVerb, .unknownContact, .store],
        samples: (
            #"{"text":"/msg bob hi"}"#,
            #"{"type":"command","verb":"message_send","parameters":{"to":"WSP-AAAA-AAAA-AAAA","text":"hi"}}"#
        ),
        .read { opened, parameters, json in
            let line = WrittenLine(
                try parameters[Self.text], in: try parameters[Self.chat], contacts: try opened.store.contacts.contacts()
            )
            let (verb, object) = try line.command()
            json.add("verb", verb)
            json.add("parameters", json: object)
        })
}

/// A line that a person has written, and the verb it stands for.
private struct WrittenLine {
    let word: String
    let rest: Substring
    let chat: Conversation?
    let contacts: [Contact]

    init(_ text: String, in chat: Conversation?, contacts: [Contact]) {
        let isCommand = text.hasPrefix("/")
        self.word = isCommand ? String(text.prefix { !$0.isWhitespace }) : ""
        self.rest = isCommand ? text.dropFirst(self.word.count).drop { $0.isWhitespace } : text[...]
        (self.chat, self.contacts) = (chat, contacts)
    }

    /// - Returns: the verb, and one object.
    func command() throws(CoreError) -> (verb: String, parameters: [UInt8]) {
        var json = JSONWriter()
        switch self.word {
        case "":
            json.add("to", try self.place().name)
            json.add("text", try self.filled(self.rest))
            return ("message_send", json.finished())
        case "/msg":
            let (place, text) = try self.recipient()
            json.add("to", place)
            json.add("text", try self.filled(text))
            return ("message_send", json.finished())
        case "/reply":
            let (id, text) = try self.message()
            json.add("to", try self.place().name)
            json.add("text", try self.filled(text))
            json.add("replyTo", id)
            return ("message_send", json.finished())
        case "/react":
            let (id, reaction) = try self.message()
            json.add("chat", try self.place().name)
            json.add("messageId", id)
            json.add("reaction", String(reaction))
            return ("message_react", json.finished())
        case "/edit":
            let (id, text) = try self.message()
            json.add("messageId", id)
            json.add("text", try self.filled(text))
            return ("message_edit", json.finished())
        case "/delete":
            let (id, text) = try self.message()
            guard text.isEmpty else { throw Self.refusal("has more than the id of a message") }
            json.add("messageId", id)
            return ("message_delete", json.finished())
        case "/file":
            json.add("chat", try self.place().name)
            json.add("path", try self.filled(self.rest))
            return ("attachment_send", json.finished())
        case "/search":
            json.add("text", try self.filled(self.rest))
            if let chat { json.add("chat", chat.name) }
            return ("search", json.finished())
        case "/block":
            json.add("whisperId", try self.person())
            return ("contact_block", json.finished())
        case "/link", "/qr":
            if !self.rest.isEmpty { json.add("whisperId", try self.person()) }
            return ("contact_link", json.finished())
        default: throw CoreError(.unknownVerb, "There is no such command.", field: "text")
        }
    }

    // MARK: Parts

    private static func refusal(_ message: String) -> CoreError { CoreError(.invalidField, message, field: "text") }

    private func filled(_ text: Substring) throws(CoreError) -> String {
        guard !text.isEmpty else { throw Self.refusal("ends too early") }
        return String(text)
    }

    private func place() throws(CoreError) -> Conversation {
        guard let chat else { throw CoreError(.invalidField, "is needed for this", field: "chat") }
        return chat
    }

    private func message() throws(CoreError) -> (id: UUIDText, rest: Substring) {
        let word = self.rest.prefix { !$0.isWhitespace }
        guard let id = UUIDText(String(word)) else { throw Self.refusal("has no id of a message behind its command") }
        return (id, self.rest[word.endIndex...].drop { $0.isWhitespace })
    }

    /// The longest name of a contact that stands there, or an id.
    private func recipient() throws(CoreError) -> (place: String, rest: Substring) {
        var longest: (id: WhisperID, name: String)?
        for contact in self.contacts {
            guard let name = contact.name, name.count > longest?.name.count ?? 0,
                self.rest.prefix(name.count).lowercased() == name.lowercased()
            else { continue }
            let next = self.rest.dropFirst(name.count).first
            if next?.isWhitespace ?? true { longest = (contact.id, name) }
        }
        if let longest {
            return ("\(longest.id)", self.rest.dropFirst(longest.name.count).drop { $0.isWhitespace })
        }
        let word = self.rest.prefix { !$0.isWhitespace }
        guard let place = Conversation(String(word)) else {
            throw CoreError(.unknownContact, "Nobody here has this name or id.", field: "text")
        }
        return (place.name, self.rest[word.endIndex...].drop { $0.isWhitespace })
    }

    private func person() throws(CoreError) -> WhisperID {
        let (place, rest) = try self.recipient()
        guard rest.isEmpty, let id = WhisperID(place) else { throw Self.refusal("names no single person") }
        return id
    }
}
