import Contract
import WhisperClient

/// A parameter that names a chat: a Whisper ID, or the id of a group.
struct ChatField: Sendable {
    let text: TypedField<String>
    var field: Field { self.text.field }

    init(_ name: String, about: String = "A Whisper ID, or the id of a group.") {
        self.text = .text(name, 1...64, about: about)
    }

    var optional: Optional { Optional(text: self.text.optional) }

    struct Optional: Sendable {
        let text: TypedField<String?>
        var field: Field { self.text.field }
    }
}

extension Payload {
    subscript(chat: ChatField) -> Conversation {
        get throws { try Self.conversation(try self[chat.text], chat.field) }
    }

    subscript(chat: ChatField.Optional) -> Conversation? {
        get throws { try self[chat.text].map { try Self.conversation($0, chat.field) } }
    }

    private static func conversation(_ text: String, _ field: Field) throws -> Conversation {
        guard let place = Conversation(text) else {
            throw CoreError(.invalidField, "is neither a Whisper ID nor the id of a group", field: field.name)
        }
        return place
    }
}

extension OpenCore {
    /// The group of this id, in any case.
    func group(_ id: UUIDText) throws -> Group {
        guard let group = try self.store.groups.group(Conversation.key(ofGroup: "\(GroupIDText.prefix)\(id)")) else {
            throw CoreError(.notFound, field: "groupId")
        }
        return group
    }
}

extension CoreError {
    init(of error: GroupError) {
        switch error {
        case .offline: self.init(.offline)
        case .noAnswer: self.init(.unreachable)
        case .refused(.notFound): self.init(.notFound, "There is no such group, or nobody has one of the Whisper IDs.")
        case .refused(.forbidden): self.init(.forbidden)
        case .refused(.rateLimited): self.init(.tooMany)
        case .refused: self.init(.server)
        case .unknownGroup: self.init(.notFound, "There is no such group.", field: "groupId")
        case .notMember: self.init(.notMember)
        case .notAgreed: self.init(.notAgreed)
        case .store: self.init(.store)
        }
    }
}
