import Contract
import WhisperClient

/// Writes news of now alone.
extension EventText {
    static func write(_ news: PassingNews, _ json: inout JSONWriter) {
        switch news {
        case .settings(let preferences):
            json.add("type", "settingsChanged")
            json.add("settings", object: preferences) { Shapes.write($0, &$1) }
        case .typing(let peer, let isTyping):
            json.add("type", "typing")
            json.add("chat", peer)
            json.add("isTyping", isTyping)
        case .presence(let id, let state):
            json.add("type", "presence")
            Shapes.write((id: id, state: state), &json)
        case .chat(let chat):
            json.add("type", "chatChanged")
            Shapes.write(chat, &json)
        case .timer(let place, let person, let seconds):
            json.add("type", "timerChanged")
            json.add("chat", place.name)
            json.add("from", person)
            json.add("seconds", seconds)
        case .expired(let place, let messages):
            json.add("type", "messagesExpired")
            json.add("chat", place.name)
            json.add("messages", objects: messages) { message, json in
                json.add("number", message.number)
                json.add("messageId", message.id)
                if let author = message.author { json.add("from", author) }
            }
        case .call(let news): Self.write(news, &json)
        case .file(let progress): Self.write(progress, &json)
        case .profile(let id, let change): Self.write(change, of: id, &json)
        case .profileDocument(let name, let news): Self.write(news, of: name, &json)
        case .nearby(let news): Self.write(news, &json)
        }
    }
}

extension EventDefinition {
    static let settingsChanged = EventDefinition(
        "settingsChanged", about: "A setting was changed. It stands as a whole.", isKept: false,
        [Field("settings", .object(Shapes.settings))],
        sample:
            #"{"type":"settingsChanged","settings":{"readReceipts":false,"typing":true,"presence":true,"backup":true,"mentions":true,"profiles":"host","relayCalls":false}}"#
    )

    static let typing = EventDefinition(
        "typing",
        about:
            "A contact types, or has stopped. A contact who is silent for \(ClientLimits.typingShownFor.components.seconds) s has stopped.",
        isKept: false, [Field("chat", .whisperID), Field("isTyping", .bool)],
        sample: #"{"type":"typing","chat":"WSP-AAAA-AAAA-AAAA","isTyping":true}"#)

    static let presence = EventDefinition(
        "presence",
        about:
            "A contact came or went. Nobody signs it: it is the server's word. When the connection goes, nothing is known any more.",
        isKept: false, Shapes.presenceFields,
        sample:
            #"{"type":"presence","whisperId":"WSP-AAAA-AAAA-AAAA","status":"offline","lastSeen":1767225600000}"#)
}

extension EventDefinition {
    static let chatChanged = EventDefinition(
        "chatChanged",
        about:
            "Somebody here has read messages of a chat, cleared it, changed its draft, or has pinned or muted it by `chat_mark`. Or an app is known to keep what should disappear. Messages have events of their own.",
        isKept: false, Shapes.chatState,
        sample:
            #"{"type":"chatChanged","chat":"WSP-AAAA-AAAA-AAAA","unread":0,"draft":"It may","isPinned":false,"isMuted":false}"#
    )
}

extension EventDefinition {
    private static let chat = Field("chat", .text(1...64), about: "A Whisper ID, or the id of a group in lower case.")

    static let timerChanged = EventDefinition(
        "timerChanged",
        about:
            "Somebody of a chat, perhaps ourselves, has set after how many seconds new messages disappear. `chatChanged` has it, too.",
        isKept: false,
        [
            Self.chat, Field("from", .whisperID),
            Field("seconds", .integer(0...ClientLimits.timerSeconds.upperBound), about: "0: new messages stay."),
        ],
        sample: #"{"type":"timerChanged","chat":"WSP-AAAA-AAAA-AAAA","from":"WSP-AAAA-AAAA-AAAA","seconds":86400}"#)

    static let messagesExpired = EventDefinition(
        "messagesExpired",
        about: "The time of these messages is over. They are deleted here, with their files and events.",
        isKept: false,
        [
            Self.chat,
            Field(
                "messages",
                .array(
                    of: .object(
                        ObjectSchema([
                            Field("number", .integer(1...Int64.max)), Field("messageId", .uuid),
                            Field("from", .whisperID, .optional, about: "Absent if it was ours."),
                        ])), count: 1...ClientLimits.expiredAtOnceMax)),
        ],
        sample: #"""
            {"type":"messagesExpired","chat":"WSP-AAAA-AAAA-AAAA","messages":[{"number":17,\#
            "messageId":"6f1f4a2e-8a0c-4a53-9d8e-2f1f6f0f9b11","from":"WSP-AAAA-AAAA-AAAA"}]}
            """#)
}

extension Shapes {
    static let settings = ObjectSchema([
        Field("readReceipts", .bool, about: "Whether senders are told what was read here."),
        Field("typing", .bool, about: "Whether typing is told, and that of others shown."),
        Field(
            "presence", .bool,
            about: "Whether presence of others is shown. The server tells peers of our own in any case."),
        Field("backup", .bool, about: "Whether the contacts are backed up by themselves."),
        Field("mentions", .bool, about: "Whether a host rings for a message that names us though its chat is muted."),
        Field(
            "profiles", .choice(Self.profileKeepers),
            about: "Who writes the documents of the profile: the core, or the host by `profile_write`. Default: `host`."
        ),
        Field(
            "relayCalls", .bool,
            about: "Whether a host leads media of calls through relays alone, which hides our address. Default: false."),
    ])

    static let profileKeepers = ["core", "host"]

    static func write(_ preferences: Preferences, _ json: inout JSONWriter) {
        json.add("readReceipts", preferences[.sendsReadReceipts])
        json.add("typing", preferences[.showsTyping])
        json.add("presence", preferences[.showsPresence])
        json.add("backup", preferences[.backsUp])
        json.add("mentions", preferences[.hearsMentions])
        json.add("profiles", Self.profileKeepers[preferences.fillsProfile ? 0 : 1])
        json.add("relayCalls", !preferences[.showsAddress])
    }

    static let chatState =
        [
            Field("chat", .text(1...64), about: "A Whisper ID, or the id of a group in lower case."),
            Field("unread", .integer(0...Int64.max)),
            Field("draft", .text(1...ClientLimits.textBytesMax), .optional, about: "Typed text that is not sent."),
            Field("isPinned", .bool), Field("isMuted", .bool),
        ] + Self.chatTimer

    static let chatTimer = [
        Field(
            "timer", .integer(ClientLimits.timerSeconds), .optional,
            about: "Seconds after which new messages disappear."),
        Field(
            "keepers", .array(of: .whisperID, count: 1...Limits.groupMembersMax), .optional,
            about:
                "With `timer`: people whose apps keep what should disappear. Their messages came without a time, a day after they got the timer."
        ),
    ]

    /// A line of the history that is no message.
    static let chatNote = ObjectSchema([
        Field("number", .integer(0...Int64.max), about: "It stands behind the message of this number."),
        Field("time", .timestamp), Field("kind", .choice(["timer", "call", "added", "removed", "title"])),
        Field(
            "from", .whisperID, .optional,
            about: "Who did it. Absent for a change of a group that happened while this device was away."),
        Field(
            "seconds", .integer(0...ClientLimits.timerSeconds.upperBound), .optional,
            about: "Of a timer; 0: new messages stay. Of a call: how long they talked."),
        Field(
            "members", .array(of: .whisperID, count: 1...ClientLimits.noteMembersMax), .optional,
            about:
                "With `added` and `removed`: members of the group, the first of them. Somebody who has left is `removed` by themselves."
        ),
        Field(
            "count", .integer(1...Int64(Limits.groupMembersMax)), .optional,
            about: "With `members`: how many there are."),
        Field("title", .text(0...10_000), .optional, about: "With `title`: as the group is called from here on."),
        Field("isVideo", .bool, .optional, about: "With `call`."),
        Field(
            "outcome", .choice(CallNote.Outcome.allCases.map(\.rawValue)), .optional,
            about: "With `call`. `missed`: nobody took it here. `noAnswer`: nobody took ours."),
    ])

    static func write(_ note: ChatNote, _ json: inout JSONWriter) {
        json.add("number", note.place)
        json.add("time", note.time)
        if let person = note.person { json.add("from", person) }
        switch note.kind {
        case .timer(let seconds):
            json.add("kind", "timer")
            json.add("seconds", seconds)
        case .call(let call):
            json.add("kind", "call")
            json.add("seconds", call.seconds)
            json.add("isVideo", call.isVideo)
            json.add("outcome", call.outcome.rawValue)
        case .added(let members, let count):
            json.add("kind", "added")
            json.add("members", strings: members.map { "\($0)" })
            json.add("count", count)
        case .removed(let members, let count):
            json.add("kind", "removed")
            json.add("members", strings: members.map { "\($0)" })
            json.add("count", count)
        case .title(let title):
            json.add("kind", "title")
            json.add("title", title)
        }
    }

    static func write(_ chat: ChatState, _ json: inout JSONWriter) {
        json.add("chat", chat.place.name)
        json.add("unread", Int64(chat.unread))
        json.add("draft", chat.draft)
        json.add("isPinned", chat.isPinned)
        json.add("isMuted", chat.isMuted)
        Self.write(timerOf: chat, &json)
    }

    static func write(timerOf chat: ChatState, _ json: inout JSONWriter) {
        if let timer = chat.timer { json.add("timer", timer) }
        if !chat.keepers.isEmpty { json.add("keepers", strings: chat.keepers.map { "\($0)" }) }
    }

    static let presenceFields = [
        Field("whisperId", .whisperID), Field("status", .choice(["online", "offline"])),
        Field("lastSeen", .timestamp, .optional, about: "With `offline`."),
    ]

    static func write(_ presence: (id: WhisperID, state: PresenceState), _ json: inout JSONWriter) {
        json.add("whisperId", presence.id)
        switch presence.state {
        case .online: json.add("status", "online")
        case .offline(let lastSeen):
            json.add("status", "offline")
            json.add("lastSeen", lastSeen)
        }
    }
}
