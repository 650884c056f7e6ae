import Contract
import WhisperClient
import WhisperCore

/// A conversation of somebody else that was listened to.
struct ListedHeard {
    var title: String
    var link: ListenLink

    init?(_ json: JSONMembers) {
        guard let title = json.string("title"), let link = json.string("link").flatMap({ ListenLink($0) }) else {
            return nil
        }
        (self.title, self.link) = (title, link)
    }
}

/// The conversation that a link opens.
struct ListedLook {
    var title: String
    var whisperer: String
    /// `nil` for what a later release knows.
    var admission: Admission?
    /// Whether the server keeps completed lines.
    var isTranscribed: Bool

    init?(_ json: JSONMembers) {
        guard let title = json.string("title"), let whisperer = json.string("whisperer") else { return nil }
        (self.title, self.whisperer) = (title, whisperer)
        self.admission = json.choice("admission")
        self.isTranscribed = json.bool("isTranscribed") ?? false
    }
}

/// How somebody wants to listen.
struct ListenWish: Sendable {
    var link: ListenLink
    /// As the whisperer is to see it.
    var name: String
    var passcode: String?
    var note: String?
}

/// Live conversations of others.
extension CoreClient {
    /// Conversations that were listened to, the last one first.
    func heard() async throws -> [ListedHeard] {
        try await self.answered("live_known").objects("heard").compactMap { ListedHeard($0) }
    }

    /// Shows the conversation of a link. The whisperer gets no event.
    func look(at link: ListenLink) async throws -> ListedLook {
        let look = try await self.answered("live_look") { json in json.add("link", link.text) }
        guard let look = ListedLook(look) else { throw Self.strange }
        return look
    }

    /// From here on the core stops to listen there when this command has gone, however it ends.
    /// - Throws: a `Refusal` with the code `busy` if another program listens there.
    func holdListening(to conversation: ConversationID) async throws {
        _ = try await self.answered("live_hold") { json in
            json.add("conversationId", conversation.uuid)
            json.add("as", "listener")
        }
    }

    func listen(_ wish: ListenWish) async throws {
        _ = try await self.answered("live_listen") { json in
            json.add("link", wish.link.text)
            json.add("name", wish.name)
            json.add("passcode", wish.passcode)
            json.add("note", wish.note)
        }
    }

    func stopListening(to conversation: ConversationID) async throws {
        _ = try await self.answered("live_leave") { json in json.add("conversationId", conversation.uuid) }
    }
}
