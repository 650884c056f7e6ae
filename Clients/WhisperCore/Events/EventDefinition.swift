package import Contract

/// An event as hosts may rely on it. Documents, schema and tests follow from it.
package struct EventDefinition: Sendable {
    package let type: String
    package let about: String
    /// Whether consumers get it with a number, until they acknowledge it.
    package let isKept: Bool
    package let fields: ObjectSchema
    /// A sample of `event`.
    package let sample: String

    init(_ type: String, about: String, isKept: Bool, _ fields: [Field] = [], sample: String) {
        self.type = type
        self.about = about
        self.isKept = isKept
        self.fields = ObjectSchema([Field("type", .choice([type]))] + fields)
        self.sample = sample
    }

    package static let all: [EventDefinition] = Self.single + Self.ofLive

    private static let single: [EventDefinition] = [
        .connection, .caughtUp, .messageReceived, .messageChanged, .contactChanged, .requestReceived, .groupChanged,
        .backup, .alarm,
        .roomChanged, .roomEvent, .roomSignal, .roomForged, .roomEnded,
        .roomData, .roomMessage, .roomMessageState, .roomPerson,
        .answer,
        .settingsChanged, .typing, .presence, .chatChanged, .timerChanged, .messagesExpired,
        .callIncoming, .callRinging, .callAnswered, .callCandidate, .callTaken, .callEnded, .callNoted,
        .nearbyChanged, .nearbyText, .nearbySent,
        .fileProgress,
        .profileChanged, .conversationsChanged, .favoritesChanged, .profileFull, .profileForeign, .profileRolledBack,
        .log,
        .subscribed, .taken, .eventsLost,
    ]

    /// The object around each event.
    package static let envelope = ObjectSchema([
        Field(
            "seq", .integer(1...Int64.max), .optional,
            about: "Its number, if it is kept. Acknowledge it by `events_ack`."),
        Field("account", .whisperID, .optional, about: "The identity of the event, once the server has given the id."),
        Field("event", .object(ObjectSchema([Field("type", .text(1...64))])), about: "By its `type`."),
    ])

    static let connection = EventDefinition(
        "connection", about: "How the connection fares.", isKept: false,
        [
            Field("state", .choice(["connecting", "online", "away", "stopped"])),
            Field("why", .text(0...1_000), .optional, about: "With `away`, for people."),
            Field("retryInMs", .integer(0...Int64.max), .optional, about: "With `away`: when the next attempt is due."),
            Field(
                "reason",
                .choice(
                    [
                        "closed", "replaced", "banned", "loginRefused", "foreignChallenge", "foreignIdentity",
                        "storeFailed",
                    ] + RefusalReason.allCases.map(\.rawValue)), .optional,
                about: "With `stopped`. `replaced`: the identity was opened on another device."),
            Field(
                "bannedUntil", .timestamp, .optional,
                about: "With `banned`, if the ban has an end. Waiting messages are kept apart: see `outbox_status`."),
        ], sample: #"{"type":"connection","state":"away","why":"no answer","retryInMs":300}"#)

    static let caughtUp = EventDefinition(
        "caughtUp", about: "The mail that waited has all been fetched.", isKept: false, sample: #"{"type":"caughtUp"}"#)

    static let messageReceived = EventDefinition(
        "messageReceived", about: "A message came. It is verified and stored.", isKept: true,
        [
            Field("message", .object(Shapes.message)),
            Field(
                "isSilent", .bool, .optional,
                about:
                    "Its chat is muted: a host shows it and does not ring. In a group a message that names us passes that, if the setting `mentions` is on."
            ),
        ],
        sample:
            #"{"type":"messageReceived","message":{"messageId":"9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10","chat":"WSP-AAAA-AAAA-AAAA","direction":"in","time":1767225600000,"kind":"text","text":"Is this thing on?","isRead":false}}"#
    )

    static let messageChanged = EventDefinition(
        "messageChanged",
        about:
            "A message of ours is in another state, or what a message says was changed: edited, deleted, reacted to. The state `sending` is told without a number.",
        isKept: true,
        [Field("message", .object(Shapes.message))],
        sample:
            #"{"type":"messageChanged","message":{"messageId":"9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10","chat":"WSP-AAAA-AAAA-AAAA","direction":"out","time":1767225600000,"kind":"text","text":"It is.","state":"sent"}}"#
    )

    static let contactChanged = EventDefinition(
        "contactChanged", about: "A contact was changed here, or came back with the backup.", isKept: true,
        [Field("contact", .object(Shapes.contact))],
        sample:
            #"{"type":"contactChanged","contact":{"whisperId":"WSP-AAAA-AAAA-AAAA","name":"Ann","isStranger":false,"isPinned":true,"isMuted":false,"isBlocked":false,"isBanned":false,"addedAt":1767225600000,"signPublicKey":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=","encPublicKey":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}}"#
    )

    static let requestReceived = EventDefinition(
        "requestReceived", about: "A stranger wrote first. Accept, reject or block them; an answer accepts.",
        isKept: true,
        [Field("contact", .object(Shapes.contact))],
        sample:
            #"{"type":"requestReceived","contact":{"whisperId":"WSP-AAAA-AAAA-AAAA","isStranger":true,"isPinned":false,"isMuted":false,"isBlocked":false,"isBanned":false,"addedAt":1767225600000,"signPublicKey":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=","encPublicKey":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}}"#
    )

    static let backup = EventDefinition(
        "backup", about: "How the backup of the contacts fares. Each fault is told once.", isKept: true,
        [
            Field(
                "state", .choice(["written", "restored", "unreadable", "tooLarge", "refused"]),
                about: "`unreadable`: our words do not open it. It is never written over."),
            Field("added", .integer(0...Int64.max), .optional, about: "With `restored`: contacts that came back."),
            Field(
                "missing", .integer(0...Int64.max), .optional,
                about: "With `restored`: contacts whose keys could not be had yet."),
            Field("bytes", .integer(0...Int64.max), .optional, about: "With `tooLarge`."),
            Field("status", .integer(0...999), .optional, about: "With `refused`: the HTTP status."),
        ], sample: #"{"type":"backup","state":"restored","added":3,"missing":0}"#)

    static let alarm = EventDefinition(
        "alarm", about: "Something that must be shown loudly: what came is not to be trusted.", isKept: true,
        [
            Field(
                "kind", .choice(["unverified", "stale", "foreignKeys", "changedKeys"]),
                about:
                    "`unverified`: mail whose signature is wrong. `stale`: mail that is too old to be new, by this device's clock; it is judged again when the clock was set. `foreignKeys`, `changedKeys`: keys from the server, or from a phone nearby, that were not used."
            ),
            Field("whisperId", .whisperID, about: "In whose name it came."),
            Field(
                "count", .integer(0...Int64.max), .optional, about: "Such messages that ever came. They are kept apart."
            ),
        ], sample: #"{"type":"alarm","kind":"unverified","whisperId":"WSP-AAAA-AAAA-AAAA","count":1}"#)

    static let answer = EventDefinition(
        "answer", about: "The server's answer to a verb that asked it.", isKept: false,
        [
            Field("request", .integer(1...Int64.max), about: "As the verb's own answer had it."),
            Field("verb", .text(1...64)),
            Field("corrId", .text(1...64), .optional, about: "As the command had it."),
            Field(
                "result", .object(ObjectSchema([Field("type", .text(1...64))])), .optional, about: "The verb's result."),
            Field("error", .object(Shapes.error), .optional, about: "Instead of a result."),
        ],
        sample:
            #"{"type":"answer","request":1,"verb":"contact_add","error":{"code":"offline","message":"There is no session with the server now.","retryable":true}}"#
    )

    static let subscribed = EventDefinition(
        "subscribed", about: "The first event of a stream of a daemon's HTTP: where its consumer is.", isKept: false,
        Verb.subscriptionFields,
        sample: #"{"type":"subscribed","acked":3,"newest":7,"isKnown":true}"#)

    static let taken = EventDefinition(
        "taken", about: "Another window reads for this consumer from here on. No numbered events come any more.",
        isKept: false, sample: #"{"type":"taken"}"#)

    static let eventsLost = EventDefinition(
        "eventsLost",
        about:
            "Events are gone. With a number: a consumer was away for too long. Without: nobody read events of now.",
        isKept: true,
        [
            Field("count", .integer(1...Int64.max)),
            Field("from", .integer(1...Int64.max), .optional, about: "The first number that is gone."),
            Field("to", .integer(1...Int64.max), .optional, about: "The last."),
        ], sample: #"{"type":"eventsLost","count":2,"from":1,"to":2}"#)
}
