package import Contract
import WhisperClient

/// Objects that several answers and events have in common: what their fields are, and how they are written.
package enum Shapes {
    // MARK: Messages

    static let message = ObjectSchema([
        Field("messageId", .uuid),
        Field(
            "chat", .whisperID,
            about: "The author of a received message, the recipient of our own. In our own to a group: ourselves."),
        Field(
            "groupId", .text(1...64), .optional, about: "The group it was written to. Then that is its chat."),
        Field("direction", .choice(["in", "out"])),
        Field("time", .timestamp, about: "The sender's; of ours when it was written."),
        Field(
            "kind", .text(1...64),
            about:
                "`text`, `deleted`, `unreadable`, or another word, which is the server's: nobody signed it."),
        Field("text", .text(0...CoreLimits.textBytesMax), .optional, about: "In the kind `text`."),
        Field(
            "body", .base64(0...Limits.frameBytesMax), .optional,
            about: "The content of another kind, as it was sealed."),
        Field("attachment", .object(Self.attachment), .optional, about: "Its file. Then the text may be empty."),
        ExtrasShapes.mentions.field,
        Field("isMentioned", .bool, .optional, about: "Whether a received message names us."),
        Field(
            "poll", .object(ExtrasShapes.poll), .optional,
            about: "Its options, and who chose them. The text is the question."),
        Field("isEdited", .bool, .optional, about: "Whether its author has changed the text."),
        Field("replyTo", .uuid, .optional, about: "The message that it answers. It may not be here."),
        Field("replyFrom", .whisperID, .optional, about: "The author of that message."),
        Field(
            "reactions",
            .array(
                of: .object(
                    ObjectSchema([
                        Field("from", .whisperID), Field("reaction", .text(1...ClientLimits.reactionBytesMax)),
                    ])), count: 1...ClientLimits.reactionsMax), .optional, about: "Each person has one at most."),
        Field(
            "state", .choice(["queued", "sending", "sent", "delivered", "read", "expired", "failed"]), .optional,
            about: "For our own."),
        Field(
            "reason", .choice(FailureReason.allCases.map(\.rawValue)), .optional, about: "Why it has failed."),
        Field(
            "failedMembers", .integer(1...Int64(Limits.groupMembersMax)), .optional,
            about: "For our own to a group: members for whom it has failed. `message_info` names them."),
        Field(
            "expires", .integer(ClientLimits.timerSeconds), .optional,
            about: "Seconds after which it disappears, once it is sent or read."),
        Field("expiresAt", .timestamp, .optional, about: "When it disappears here, as far as that is known."),
        Field("isRead", .bool, .optional, about: "For received ones: whether it was marked as read here."),
    ])

    /// The same with its place in the chat.
    static let numberedMessage =
        ObjectSchema([
            Field("number", .integer(1...Int64.max), about: "Grows in the order in which messages came here.")
        ]) + Self.message

    static func write(_ message: Message, _ json: inout JSONWriter) {
        json.add("messageId", message.id)
        json.add("chat", message.peer)
        json.add("groupId", message.groupID)
        json.add("direction", message.state == nil ? "in" : "out")
        json.add("time", message.time)
        switch message.content {
        case .text(let text):
            json.add("kind", "text")
            json.add("text", text)
        case .other(let kind, let body):
            json.add("kind", kind)
            json.add("body", base64: body)
        case .unreadable: json.add("kind", "unreadable")
        case .deleted: json.add("kind", "deleted")
        }
        if let attachment = message.attachment {
            json.add("attachment", object: attachment) { Self.write($0, &$1) }
        }
        if !message.mentions.isEmpty { json.add(ExtrasShapes.mentions, message.mentions) }
        if message.isMentioned { json.add("isMentioned", true) }
        if let poll = message.poll { json.add("poll", object: poll) { ExtrasShapes.write($0, &$1) } }
        if message.isEdited { json.add("isEdited", true) }
        if let reply = message.replyTo {
            json.add("replyTo", reply.id)
            json.add("replyFrom", reply.author)
        }
        if !message.reactions.isEmpty {
            json.add("reactions", objects: message.reactions) { reaction, json in
                json.add("from", reaction.from)
                json.add("reaction", reaction.text)
            }
        }
        switch message.direction {
        case .outgoing(let state):
            Self.write(state, &json)
            if message.failedMembers > 0 { json.add("failedMembers", Int64(message.failedMembers)) }
        case .incoming(let isRead): json.add("isRead", isRead)
        }
        if let seconds = message.expires { json.add("expires", seconds) }
        if let time = message.expiresAt { json.add("expiresAt", time) }
    }

    static func write(_ state: MessageState, _ json: inout JSONWriter) {
        switch state {
        case .queued: json.add("state", "queued")
        case .sending: json.add("state", "sending")
        case .sent: json.add("state", "sent")
        case .delivered: json.add("state", "delivered")
        case .read: json.add("state", "read")
        case .expired: json.add("state", "expired")
        case .failed(let reason):
            json.add("state", "failed")
            json.add("reason", reason.rawValue)
        }
    }

    static func write(_ message: (number: Int64, message: Message), _ json: inout JSONWriter) {
        json.add("number", message.number)
        Self.write(message.message, &json)
    }

    // MARK: Contacts

    static let contact = ObjectSchema([
        Field("whisperId", .whisperID),
        Field("name", .text(0...10_000), .optional, about: "As this person is called here."),
        Field("isStranger", .bool, about: "Wrote first, and was neither added nor answered."),
        Field("isPinned", .bool), Field("isMuted", .bool),
        Field("isBlocked", .bool, about: "Their mail is acknowledged and dropped. Nothing is sent to them."),
        Field("notes", .text(0...Limits.backupBytesMax), .optional, about: "For the person here alone."),
        Field("isBanned", .bool),
        Field(
            "isGone", .bool, .optional,
            about: "The server does not know this id any more: say \"no longer here\". Keys and messages stay."),
        Field(
            "isVerified", .bool, .optional,
            about: "Whether the safety number was compared on this device, or their link was scanned."),
        Field(
            "verification", .choice(Verification.allCases.map(\.rawValue)), .optional,
            about:
                "What vouches for the keys, beside the id: a link (`linked`, as good as the way by which it came), a link off their screen, or the safety number."
        ),
        Field("addedAt", .timestamp),
        Field("signPublicKey", .base64(32...32), about: "Ed25519, pinned."),
        Field("encPublicKey", .base64(32...32), about: "X25519, pinned."),
    ])

    static func write(_ contact: Contact, _ json: inout JSONWriter) {
        json.add("whisperId", contact.id)
        json.add("name", contact.name)
        json.add("isStranger", contact.isStranger)
        json.add("isPinned", contact.isPinned)
        json.add("isMuted", contact.isMuted)
        json.add("isBlocked", contact.isBlocked)
        json.add("notes", contact.notes)
        json.add("isBanned", contact.isBanned)
        if contact.isGone { json.add("isGone", true) }
        if contact.isVerified { json.add("isVerified", true) }
        json.add("verification", contact.verification?.rawValue)
        json.add("addedAt", contact.addedAt)
        json.add("signPublicKey", base64: contact.keys.sign.bytes)
        json.add("encPublicKey", base64: contact.keys.box.bytes)
    }

    // MARK: Errors

    package static let error = ObjectSchema([
        Field("code", .choice(CoreError.Code.allCases.map(\.rawValue))),
        Field("message", .text(1...1_000), about: "For people, in English. It repeats nothing that was given."),
        Field("retryable", .bool, about: "Whether the same call may do better later by itself."),
        Field("field", .text(1...256), .optional, about: "The parameter that is wrong."),
        Field(
            "similar", .array(of: .text(1...64), count: 1...3), .optional,
            about: "With `unknownVerb`: verbs with similar names."),
        Field("pid", .integer(1...Int64.max), .optional, about: "With `locked`: the process that has the folder open."),
        Field(
            "steps", .integer(1...1_000), .optional,
            about: "With `needsUpgrade`: migrations that wait. With `needsDowngrade`: migrations to undo."),
    ])
}
