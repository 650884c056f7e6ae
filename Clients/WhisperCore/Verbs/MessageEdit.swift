import Contract
import WhisperClient

extension Verb {
    private static let messageID = TypedField.uuid("messageId", about: "Id of a message of ours.")
    private static let text = TypedField.text(
        "text", 1...ClientLimits.textBytesMax, about: "At most \(ClientLimits.textBytesMax) bytes of UTF-8.")

    static let messageEdit = Verb(
        "message_edit", of: "messages",
        about: "Gives a message of ours another text, here at once and for its reader when the server is there.",
        [Self.messageID.field, Self.text.field, ExtrasShapes.mentions.field], type: "message",
        [Field("message", .object(Shapes.message))],
        errors: [
            .noIdentity, .notFound, .notText, .unknownContact, .bannedContact, .blockedContact, .notMember, .tooLong,
            .tooMany, .store,
        ],
        samples: (
            #"{"messageId":"9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10","text":"It is on."}"#,
            #"{"type":"message","message":{"messageId":"9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10","chat":"WSP-AAAA-AAAA-AAAA","direction":"out","time":1767225600000,"kind":"text","text":"It is on.","isEdited":true,"state":"sent"}}"#
        ),
        .client { opened, parameters, json in
            let (message, reference) = try opened.ours(try parameters[Self.messageID])
            let text = try parameters[Self.text]
            let mentions = try ExtrasShapes.check(try parameters[ExtrasShapes.mentions], in: text)
            let changed = try await opened.with {
                try $0.outbox.change(reference, in: message.place, .edit(text, mentions), $0)
            }
            json.add("message", object: changed) { Shapes.write($0, &$1) }
        })
}

extension OpenCore {
    /// A message of ours, and how a change names it.
    func ours(_ id: UUIDText) throws -> (Message, MessageReference) {
        guard let message = try self.store.messages.outgoing(id), let ownID = self.id else {
            throw CoreError(.notFound, field: "messageId")
        }
        return (message, MessageReference(id: message.id, author: ownID))
    }

    /// A message of a chat, whoever wrote it.
    /// - Parameters:
    ///   - author: `nil` for whoever of both has it; theirs before ours. In a group it must be named, unless it is ours.
    ///   - field: the parameter that named it.
    func reference(
        to id: UUIDText, in place: Conversation, by author: WhisperID?, field: String
    ) throws -> MessageReference {
        guard case .direct(let peer) = place else {
            let message =
                if let author, author != self.id {
                    try self.store.messages.incoming(id, from: author)
                } else { try self.store.messages.outgoing(id) }
            guard let message, message.place == place else { throw CoreError(.notFound, field: field) }
            return MessageReference(id: message.id, author: message.peer)
        }
        if author == nil || author == peer, let message = try self.store.messages.incoming(id, from: peer),
            message.isDirect
        {
            return MessageReference(id: message.id, author: peer)
        }
        if let ownID = self.id, author == nil || author == ownID, let message = try self.store.messages.outgoing(id),
            message.peer == peer, message.isDirect
        {
            return MessageReference(id: message.id, author: ownID)
        }
        throw CoreError(.notFound, field: field)
    }
}
