import Contract
import WhisperClient

extension Verb {
    private static let chat = ChatField("chat", about: "Id of a contact or a group.")
    private static let seconds = TypedField.integer(
        "seconds", 0...ClientLimits.timerSeconds.upperBound,
        about: "0: new messages stay. Else at least \(ClientLimits.timerSeconds.lowerBound).")

    static let chatTimer = Verb(
        "chat_timer", of: "chats",
        about:
            "Sets after how many seconds new messages of a chat disappear, on all devices of all its people. In a group its owner and admins may. Its time begins for the writer when the message is sent, and for a reader when it is read. A message that nobody reads goes some days later; clients that do not know timers keep it.",
        [Self.chat.field, Self.seconds.field], type: "chat", Shapes.chatState,
        errors: [
            .noIdentity, .unknownContact, .bannedContact, .blockedContact, .toSelf, .notFound, .notMember, .forbidden,
            .tooMany, .store,
        ],
        samples: (
            #"{"chat":"WSP-AAAA-AAAA-AAAA","seconds":86400}"#,
            #"{"type":"chat","chat":"WSP-AAAA-AAAA-AAAA","unread":2,"isPinned":false,"isMuted":true,"timer":86400}"#
        ),
        .client { opened, parameters, json in
            let (chat, seconds) = (try parameters[Self.chat], try parameters[Self.seconds])
            guard seconds == 0 || ChatTimer.isTime(seconds) else {
                throw CoreError(
                    .invalidField, "is 0 or at least \(ClientLimits.timerSeconds.lowerBound)", field: "seconds")
            }
            let state = try await opened.with { try $0.disappearing.set(seconds, in: chat, $0) }
            Shapes.write(state, &json)
        })
}
