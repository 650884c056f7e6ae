package import Contract
import WhisperClient

/// Something that a host may ask for: declared in one file each, from which documents and schema follow.
package struct Verb: Sendable {
    enum Work: Sendable {
        /// Needs no identity, and may change what the core is.
        case core(@Sendable (Core, Payload, inout JSONWriter) async throws -> Void)
        /// Reads the store, and changes nothing. It blocks its thread.
        case read(@Sendable (OpenCore, Payload, inout JSONWriter) throws -> Void)
        /// Reads what the core is, with or without an identity.
        case look(@Sendable (Core, Payload, inout JSONWriter) throws -> Void)
        /// Changes the store alone, and what its reader gets. It blocks its thread.
        case store(@Sendable (EventReader, OpenCore, Payload, inout JSONWriter) throws -> Void)
        /// Asks the client, which asks nobody.
        case client(@Sendable (OpenCore, Payload, inout JSONWriter) async throws -> Void)
        /// Concerns the program that asks. Asks the client, which asks nobody.
        case program(@Sendable (Holder, OpenCore, Payload, inout JSONWriter) async throws -> Void)
        /// Asks the server. Its result comes as the event `answer`.
        case server(@Sendable (OpenCore, Payload, inout JSONWriter) async throws -> Void)
        /// The same, and may end what the core is.
        case leaving(@Sendable (Core, OpenCore, Payload, inout JSONWriter) async throws -> Void)
    }

    package let name: String
    package let noun: String
    package let about: String
    package let parameters: ObjectSchema
    /// The `type` of its result.
    package let type: String
    package let result: ObjectSchema
    package let errors: [CoreError.Code]
    package let samples: (parameters: String, result: String)
    let work: Work

    init(
        _ name: String, of noun: String, about: String, _ parameters: [Field] = [], type: String,
        _ result: [Field] = [],
        errors: [CoreError.Code] = [], samples: (parameters: String, result: String), _ work: Work
    ) {
        self.name = name
        self.noun = noun
        self.about = about
        self.parameters = ObjectSchema(parameters + [Self.corrID.field])
        self.type = type
        self.result = ObjectSchema([Field("type", .choice([type]))] + result)
        self.errors = errors
        self.samples = samples
        self.work = work
    }

    static let corrID = TypedField.text("corrId", 1...64, about: "Any text of the host's. The answer repeats it.")
        .optional

    /// Whether `query` takes it.
    package var isReadOnly: Bool {
        switch self.work {
        case .read, .look: true
        default: false
        }
    }

    /// Whether its result comes as an event.
    package var asksServer: Bool {
        switch self.work {
        case .server, .leaving: true
        default: false
        }
    }

    package var needsIdentity: Bool {
        switch self.work {
        case .core, .look: false
        default: true
        }
    }

    /// The answer at once of a verb that asks the server.
    package static let asked = ObjectSchema([
        Field("type", .choice(["asked"])),
        Field("request", .integer(1...Int64.max), about: "The event `answer` has it."),
    ])
}

/// Every verb.
package enum VerbCatalogue {
    package static let all: [Verb] = [
        .identityCreate, .identityRestore, .identityShow, .wordsDraw, .wordsFind, .wordsCheck,
        .serverCheck, .serverSet,
        .connect, .disconnect, .sessionStatus,
        .logout, .accountDelete, .accountExport, .pushSet, .pushMatch, .settingsGet, .settingsSet,
        .typing, .presenceList,
        .nearbyStart, .nearbyStop, .nearbyList, .nearbyConnect, .nearbyDisconnect, .nearbySend,
        .callStart, .callHold, .callAnswer, .callICE, .callEnd, .callList, .callTurn,
        .contactVerify, .reportSend, .backupNow, .backupDelete, .storeCheck,
        .contactAdd, .contactList, .contactUpdate, .contactRemove, .contactBlock, .contactUnblock, .contactSafety,
        .contactLink, .contactQR, .linkRead, .invitationCreate, .invitationRevoke, .requestList, .requestAccept,
        .requestReject,
        .chatList, .chatGet, .chatRead, .chatDraft, .chatMark, .chatTimer, .chatClear, .search,
        .messageSend, .pollSend, .pollVote, .messageEdit, .messageDelete, .messageReact, .messageInfo, .messageRead,
        .messageRetry,
        .messageCancel, .messageUnread, .outboxStatus, .outboxResume, .outboxDiscard,
        .roomHold, .roomCreate, .roomJoin, .roomList, .roomGet, .roomSignal, .roomCode, .roomUpdate, .roomRemove,
        .roomPoke, .roomSay, .roomName, .roomData,
        .roomTurn, .roomLeave, .roomClose, .roomPurge,
        .liveCreate, .liveUpdate, .liveDelete, .liveList, .liveKnown,
        .liveDefault, .liveHold, .liveStart, .liveType, .liveLine, .liveCue, .liveStop,
        .liveGet, .liveRoster, .liveAccept, .liveRefuse, .liveRemove,
        .liveLook, .liveListen, .liveLeave, .liveAttention,
        .liveTranscripts, .liveShare, .liveUnshare, .liveForget,
        .profileShare, .profileJoin, .profileGet, .profileRemove, .profileLeave,
        .profileRead, .profileWrite, .profileRenew, .profileRepair, .profileStatus, .userSet,
        .favoriteSet, .favoriteRemove, .favoriteList,
        .groupCreate, .groupUpdate, .groupLeave, .groupAdmit, .groupList, .groupMembers,
        .attachmentSend, .attachmentGet, .attachmentKeep, .attachmentCancel,
        .backupStatus, .storeInfo, .schema, .commandParse,
        .hostGet, .hostSet, .answerGet,
        .eventsSubscribe, .eventsUnsubscribe, .eventsAck, .eventsList,
    ]

    static let byName = Dictionary(Self.all.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })

    /// Names that somebody may have meant.
    static func similar(to name: String) -> [String] {
        let wanted = Self.pairs(name)
        let scored = Self.all.map { verb in
            let pairs = Self.pairs(verb.name)
            return (verb.name, Double(wanted.intersection(pairs).count) / Double(max(wanted.union(pairs).count, 1)))
        }
        return scored.filter { $0.1 >= 0.2 }.sorted { ($1.1, $0.0) < ($0.1, $1.0) }.prefix(3).map(\.0)
    }

    private static func pairs(_ name: String) -> Set<[UInt8]> {
        let bytes = Array(name.utf8.prefix(64))
        return Set(zip(bytes, bytes.dropFirst()).map { [$0, $1] })
    }
}
