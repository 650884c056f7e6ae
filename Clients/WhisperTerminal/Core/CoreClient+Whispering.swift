import Contract
import Dispatch
import WhisperClient
import WhisperCore

/// A new conversation of the user's own.
struct ConversationWish: Sendable {
    /// As the user calls it.
    var name: String
    var title: String
    var whisperer: String
    var admission: Admission
    var passcode: String?
    var transcriptDays: Int
}

/// Callers and listeners of a stream of the user's own.
struct ListedRoster {
    typealias Person = (id: PrincipalID, name: String)

    /// People who ask to listen, in order of arrival.
    var callers: [Person]
    /// Admitted people, and whether they listen now.
    var listeners: [(person: Person, isPresent: Bool)]

    init(_ json: JSONMembers) {
        self.callers = json.objects("callers").compactMap { $0.listener }
        self.listeners = json.objects("listeners").compactMap { json in
            json.listener.map { ($0, json.bool("isPresent") ?? false) }
        }
    }
}

/// Whispering.
extension CoreClient {
    func create(_ wish: ConversationWish) async throws -> ListedConversation {
        let made = try await self.answered("live_create") { json in
            json.add("name", wish.name)
            json.add("title", wish.title)
            json.add("whisperer", wish.whisperer)
            json.add("admission", wish.admission.rawValue)
            json.add("passcode", wish.passcode)
            json.add("transcriptDays", Int64(wish.transcriptDays))
        }
        guard let own = made.object("conversation").flatMap({ ListedConversation($0) }) else { throw Self.strange }
        return own
    }

    /// The one in which a person whispers without choosing.
    func defaultConversation() async throws -> ListedConversation {
        let shown = try await self.answered("live_default")
        guard let own = shown.object("conversation").flatMap({ ListedConversation($0) }) else { throw Self.strange }
        return own
    }

    /// From here on the core stops to whisper there when this command has gone, however it ends.
    /// - Throws: a `Refusal` with the code `busy` if another program whispers there.
    func holdWhispering(in conversation: ConversationID) async throws {
        _ = try await self.answered("live_hold") { json in
            json.add("conversationId", conversation.uuid)
            json.add("as", "whisperer")
        }
    }

    /// Now, or when the server is there.
    func whisper(in conversation: ConversationID) async throws {
        _ = try await self.answered("live_start") { json in json.add("conversationId", conversation.uuid) }
    }

    /// The line under the user's hands reads so now. Each line end in it completes a line.
    /// - Parameter piece: of `pieces`.
    /// - Throws: a `Refusal` with the code `tooMany` if too much waits already; nothing was taken then.
    func type(_ piece: String, in conversation: ConversationID) async throws {
        _ = try await self.answered("live_type") { json in
            json.add("conversationId", conversation.uuid)
            json.add("text", piece)
        }
    }

    /// The typed text in pieces that fit into a command: text that is too long is sent line by line.
    static func pieces(of text: String) -> [String] {
        // A core takes no NUL.
        let text = String(String.UnicodeScalarView(text.unicodeScalars.filter { $0 != "\0" }))
        guard text.unicodeScalars.count > CoreLimits.textBytesMax else { return [text] }
        let (lines, rest) = TypedText.split(text)
        return lines.map { $0.string + "\n" } + (rest.isEmpty ? [] : [rest.string])
    }

    /// Ends the stream.
    /// - Parameter lastWords: how long what was typed may take to go out before.
    func stopWhispering(in conversation: ConversationID, lastWords: Duration = .zero) async throws {
        let milliseconds = lastWords.components.seconds * 1_000
        let answer = DispatchTime.now() + .seconds(Int(lastWords.components.seconds) + 20)
        _ = try await self.answered("live_stop", until: answer) { json in
            json.add("conversationId", conversation.uuid)
            json.add("lastWordsMs", milliseconds)
        }
    }

    // MARK: Listeners

    func roster(of conversation: ConversationID) async throws -> ListedRoster {
        ListedRoster(
            try await self.answered("live_roster") { json in json.add("conversationId", conversation.uuid) })
    }

    func accept(_ listener: PrincipalID, in conversation: ConversationID) async throws {
        try await self.decide("live_accept", listener, conversation)
    }

    func refuse(_ listener: PrincipalID, in conversation: ConversationID) async throws {
        try await self.decide("live_refuse", listener, conversation)
    }

    /// - Parameter isBlocked: they may not knock again.
    func remove(_ listener: PrincipalID, isBlocked: Bool, in conversation: ConversationID) async throws {
        try await self.decide("live_remove", listener, conversation) { json in
            if isBlocked { json.add("isBlocked", true) }
        }
    }

    private func decide(
        _ verb: String, _ listener: PrincipalID, _ conversation: ConversationID,
        _ write: (inout JSONWriter) -> Void = { _ in }
    ) async throws {
        _ = try await self.answered(verb) { json in
            json.add("conversationId", conversation.uuid)
            json.add("listener", "\(listener)")
            write(&json)
        }
    }
}
