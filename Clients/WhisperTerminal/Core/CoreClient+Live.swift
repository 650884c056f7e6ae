import Contract
import WhisperClient

/// A room as the core lists it.
struct ListedRoom {
    struct Participant {
        /// A Whisper ID, or the id of a guest.
        var id: String
        var seat: Int64
        var isConnected: Bool
    }

    var id: String
    var host: String
    var participantsMax: Int64
    var isLocked: Bool
    var participants: [Participant]

    init?(_ json: JSONMembers) {
        guard let id = json.string("roomId"), let host = json.string("host"),
            let most = json.integer("participantsMax")
        else { return nil }
        (self.id, self.host, self.participantsMax) = (id, host, most)
        self.isLocked = json.bool("isLocked") ?? false
        self.participants = json.objects("participants").compactMap { json in
            guard let id = json.string("participant"), let seat = json.integer("seat") else { return nil }
            return Participant(id: id, seat: seat, isConnected: json.bool("isConnected") ?? false)
        }
    }
}

/// A live conversation of the user's own, as the core lists it.
struct ListedConversation: Sendable {
    var id: ConversationID
    /// As the user calls it.
    var name: String
    /// As listeners see it, and the user.
    var title: String
    var whisperer: String
    /// As `Admission`.
    var admission: String
    var passcode: String?
    var transcriptDays: Int64
    /// For listeners. It holds a secret.
    var link: String
    /// `nil` if the server knows of none, or was not asked.
    var state: LiveStreamState?

    init?(_ json: JSONMembers) {
        guard let id = json.string("conversationId").flatMap({ ConversationID($0) }), let name = json.string("name"),
            let title = json.string("title"), let whisperer = json.string("whisperer"),
            let admission = json.string("admission"), let days = json.integer("transcriptDays"),
            let link = json.string("link")
        else { return nil }
        (self.id, self.name, self.title, self.whisperer) = (id, name, title, whisperer)
        (self.admission, self.passcode) = (admission, json.string("passcode"))
        (self.transcriptDays, self.link) = (days, link)
        self.state = json.string("state").flatMap { LiveStreamState(rawValue: $0) }
    }
}

/// A stream whose lines the server keeps.
struct ListedTranscript {
    var content: String
    var startedAt: Timestamp
    var endedAt: Timestamp?
    var lines: Int64
    var expiresAt: Timestamp

    init?(_ json: JSONMembers) {
        guard let content = json.string("contentId"), let start = json.integer("startedAt"),
            let lines = json.integer("lines"), let end = json.integer("expiresAt")
        else { return nil }
        self.content = content
        self.startedAt = Timestamp(milliseconds: start)
        self.endedAt = json.integer("endedAt").map { Timestamp(milliseconds: $0) }
        self.lines = lines
        self.expiresAt = Timestamp(milliseconds: end)
    }
}

/// Changes of a conversation. `nil` leaves a value as it is.
struct ConversationChange {
    var title: String?
    var whisperer: String?
    var admission: Admission?
    var passcode: String?
    var transcriptDays: Int?
    var drawsLink = false
}

/// Rooms and live conversations.
extension CoreClient {
    // MARK: Rooms

    func rooms() async throws -> [ListedRoom] {
        try await self.answered("room_list").objects("rooms").compactMap { ListedRoom($0) }
    }

    func leaveRoom(_ room: UUIDText) async throws {
        _ = try await self.answered("room_leave") { json in json.add("roomId", room) }
    }

    func closeRoom(_ room: UUIDText) async throws {
        _ = try await self.answered("room_close") { json in json.add("roomId", room) }
    }

    /// - Returns: the new code; `nil` if there is none now.
    func renewCode(_ code: RoomCodeWish, of room: UUIDText) async throws -> String? {
        try await self.answered("room_code") { json in
            json.add("roomId", room)
            json.add("codeDigits", Int64(code.digits))
            json.add("codeTtlSeconds", code.ttl.components.seconds)
            json.add("pin", code.pin)
        }.string("code")
    }

    /// - Returns: how many are woken.
    func pokeRoom(_ room: UUIDText) async throws -> Int64 {
        try await self.answered("room_poke") { json in json.add("roomId", room) }.integer("woken") ?? 0
    }

    func remove(_ participant: PrincipalID, from room: UUIDText) async throws {
        _ = try await self.answered("room_remove") { json in
            json.add("roomId", room)
            json.add("participant", "\(participant)")
        }
    }

    // MARK: Live conversations

    /// The user's own, with what the server says of them.
    func conversations() async throws -> [ListedConversation] {
        try await self.answered("live_list").objects("conversations").compactMap { ListedConversation($0) }
    }

    /// - Parameter name: as the user calls it.
    func conversation(named name: String) async throws -> ListedConversation? {
        try await self.answered("live_known").objects("own").compactMap { ListedConversation($0) }
            .first { $0.name == name }
    }

    func update(_ conversation: ListedConversation, _ change: ConversationChange) async throws -> ListedConversation {
        let changed = try await self.answered("live_update") { json in
            json.add("conversationId", conversation.id.uuid)
            json.add("title", change.title)
            json.add("whisperer", change.whisperer)
            json.add("admission", change.admission?.rawValue)
            json.add("passcode", change.passcode)
            if let days = change.transcriptDays { json.add("transcriptDays", Int64(days)) }
            if change.drawsLink { json.add("newLink", true) }
        }
        guard let own = changed.object("conversation").flatMap({ ListedConversation($0) }) else { throw Self.strange }
        return own
    }

    func delete(_ conversation: ListedConversation) async throws {
        _ = try await self.answered("live_delete") { json in json.add("conversationId", conversation.id.uuid) }
    }

    /// The newest first.
    func transcripts(of conversation: ListedConversation) async throws -> [ListedTranscript] {
        try await self.answered("live_transcripts") { json in json.add("conversationId", conversation.id.uuid) }
            .objects("transcripts").compactMap { ListedTranscript($0) }
    }

    func deleteTranscript(_ content: UUIDText, of conversation: ListedConversation) async throws {
        _ = try await self.answered("live_forget") { json in
            json.add("conversationId", conversation.id.uuid)
            json.add("contentId", content)
        }
    }

    /// - Returns: the link, which holds a secret, the share's id, and until when it opens something.
    func share(
        _ content: String, of conversation: ListedConversation, days: Int
    ) async throws -> (link: String, id: String, expiresAt: Timestamp) {
        let share = try await self.answered("live_share") { json in
            json.add("conversationId", conversation.id.uuid)
            json.add("contentId", content)
            json.add("expiresInSeconds", Int64(days * 86_400))
        }
        guard let link = share.string("link"), let id = share.string("shareId"), let end = share.integer("expiresAt")
        else { throw Self.strange }
        return (link, id, Timestamp(milliseconds: end))
    }

    func unshare(_ share: UUIDText, of conversation: ListedConversation) async throws {
        _ = try await self.answered("live_unshare") { json in
            json.add("conversationId", conversation.id.uuid)
            json.add("shareId", share)
        }
    }
}
