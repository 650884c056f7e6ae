import Contract
import WhisperClient

extension Verb {
    private static let messageID = TypedField.uuid("messageId", about: "Id of a message of ours.")

    static let messageDelete = Verb(
        "message_delete", of: "messages",
        about:
            "Deletes a message of ours, here at once and for its reader when the server is there. A message that was not sent yet is not sent any more.",
        [Self.messageID.field], type: "message", [Field("message", .object(Shapes.message))],
        errors: [
            .noIdentity, .notFound, .unknownContact, .bannedContact, .blockedContact, .notMember, .tooMany, .store,
        ],
        samples: (
            #"{"messageId":"9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10"}"#,
            #"{"type":"message","message":{"messageId":"9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10","chat":"WSP-AAAA-AAAA-AAAA","direction":"out","time":1767225600000,"kind":"deleted","state":"sent"}}"#
        ),
        .client { opened, parameters, json in
            let (message, reference) = try opened.ours(try parameters[Self.messageID])
            let changed = try await opened.with { try $0.outbox.change(reference, in: message.place, .delete, $0) }
            json.add("message", object: changed) { Shapes.write($0, &$1) }
        })
}
