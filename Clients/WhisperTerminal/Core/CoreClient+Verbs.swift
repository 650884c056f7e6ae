import Contract
import Dispatch
import TerminalText
import WhisperClient
import WhisperCore

/// What commands ask of a core, in the client's own types.
extension CoreClient {
    /// How long a command waits for the server's answer.
    private static var serverDeadline: DispatchTime { .now() + .seconds(20) }

    /// - Returns: the members of the result.
    private func members(_ verb: String, _ write: (inout JSONWriter) -> Void = { _ in }) async throws -> JSONMembers {
        var json = JSONWriter()
        write(&json)
        return try Self.members(try await self.ask(verb, json.finished()))
    }

    /// The same of a verb that may ask the server, whose answer it waits for.
    func answered(
        _ verb: String, until deadline: DispatchTime? = nil, _ write: (inout JSONWriter) -> Void = { _ in }
    ) async throws -> JSONMembers {
        var json = JSONWriter()
        write(&json)
        return try Self.members(try await self.result(verb, json.finished(), until: deadline ?? Self.serverDeadline))
    }

    /// The objects of a list as the core writes them, page by page.
    /// - Parameters:
    ///   - name: of the list in the result.
    ///   - key: the member of the last object that asks for the next page. `nil`: there is one page.
    func listed(_ verb: String, _ name: String, after key: String? = nil) async throws -> [[UInt8]] {
        var found: [[UInt8]] = []
        var after: [UInt8]?
        while true {
            let page = try await self.answered(verb) { json in if let after { json.add("after", json: after) } }
            guard let list = page[name], case .array(let objects) = JSONText(list) else { throw Self.strange }
            found += objects
            guard let key, page.bool("hasMore") == true, let last = objects.last,
                case .object(let members) = JSONText(last), let next = members[key]
            else { return found }
            after = next
        }
    }

    private static func members(_ result: [UInt8]) throws -> JSONMembers {
        guard case .object(let members) = JSONText(result) else { throw Self.strange }
        return members
    }

    private static func message(_ result: JSONMembers) throws -> Message {
        guard let message = result.object("message").flatMap({ Message($0) }) else { throw Self.strange }
        return message
    }

    static let strange = Problem("The daemon answers strangely.")

    // MARK: People

    /// Who this is: the id that the server has given, or the one that it will most likely be.
    /// - Returns: `nil` without an identity.
    func identity() async throws -> (id: String, isKnown: Bool)? {
        let members = try await self.members("identity_show")
        if let id = members.string("whisperId") { return (id, true) }
        return members.string("likelyId").map { ($0, false) }
    }

    /// All of them, strangers last.
    func contacts() async throws -> [Contact] {
        try await self.people("contact_list") + self.people("request_list")
    }

    private func people(_ verb: String) async throws -> [Contact] {
        var people: [Contact] = []
        while true {
            let page = try await self.members(verb) { json in json.add("after", (people.last?.id).map { "\($0)" }) }
            let found = page.objects("contacts").compactMap { Contact($0) }
            people += found
            guard page.bool("hasMore") == true, !found.isEmpty else { return people }
        }
    }

    /// Adds the person of a Whisper ID, or of a link that `contact_link` gave.
    /// - Parameter source: `scan` if a camera read the link off their screen.
    func add(_ id: WhisperID? = nil, link: String? = nil, source: String? = nil, name: String?) async throws -> Contact
    {
        let result = try await self.answered("contact_add") { json in
            json.add("whisperId", id.map { "\($0)" })
            json.add("link", link)
            json.add("source", source)
            json.add("name", name)
        }
        guard let contact = result.object("contact").flatMap({ Contact($0) }) else { throw Self.strange }
        return contact
    }

    /// The link by which others add us.
    func link(name: String? = nil, form: ContactLink.Form = .app) async throws -> String {
        let members = try await self.members("contact_link") { json in
            json.add("name", name)
            json.add("form", form.rawValue)
        }
        guard let text = members.string("text") else { throw Self.strange }
        return text
    }

    /// Takes a stranger's request.
    func accept(_ id: WhisperID) async throws {
        _ = try await self.members("request_accept") { json in json.add("whisperId", id) }
    }

    /// Forgets a stranger with all messages.
    func reject(_ id: WhisperID) async throws {
        _ = try await self.members("request_reject") { json in json.add("whisperId", id) }
    }

    func set(isBlocked: Bool, _ id: WhisperID) async throws {
        _ = try await self.members(isBlocked ? "contact_block" : "contact_unblock") { json in
            json.add("whisperId", id)
        }
    }

    func set(timer seconds: Int64, in place: Conversation) async throws {
        _ = try await self.members("chat_timer") { json in
            json.add("chat", place.name)
            json.add("seconds", seconds)
        }
    }

    func isBackedUp() async throws -> Bool { try await self.members("backup_status").bool("isBackedUp") ?? true }

    /// The number that two people see alike if each has the true keys of the other.
    func safetyNumber(with id: WhisperID) async throws -> String {
        let members = try await self.members("contact_safety") { json in json.add("whisperId", id) }
        guard let number = members.string("number") else { throw Self.strange }
        return number
    }

    func set(isVerified: Bool, _ id: WhisperID) async throws {
        _ = try await self.members("contact_verify") { json in
            json.add("whisperId", id)
            json.add("isVerified", isVerified)
        }
    }

    /// Unread messages of each chat that has some.
    func unreadCounts() async throws -> [Conversation: Int64] {
        var counts: [Conversation: Int64] = [:]
        var cursor: Int64?
        while true {
            let page = try await self.members("chat_list") { json in
                json.add("limit", Int64(CoreLimits.listMax))
                if let cursor { json.add("cursor", cursor) }
            }
            for chat in page.objects("chats") {
                guard let place = chat.string("chat").flatMap({ Conversation($0) }),
                    let unread = chat.integer("unread"), unread > 0
                else { continue }
                counts[place] = unread
            }
            cursor = page.integer("cursor")
            if cursor == nil { return counts }
        }
    }

    /// Messages that ever came and were not trusted.
    func suspiciousCounts() async throws -> [Suspicion: Int64] {
        try await self.members("store_info").objects("suspects").reduce(into: [:]) { counts, suspect in
            guard let suspicion = Suspicion(sender: suspect.whisperID("whisperId"), reason: suspect.string("kind"))
            else { return }
            counts[suspicion] = suspect.integer("count")
        }
    }

    // MARK: Sending

    /// Takes a message: it is stored when this returns, and goes out now or when the server is back.
    /// - Parameter reply: the message that it answers.
    func send(_ text: String, to chat: Conversation, answering reply: MessageReference? = nil) async throws -> Message {
        let bytes = text.utf8.count
        guard bytes > 0 else {
            throw Refusal(
                code: CoreError.Code.invalidField.rawValue, message: "There is nothing to send.", field: "text")
        }
        guard bytes <= ClientLimits.textBytesMax else {
            throw Refusal(
                code: CoreError.Code.tooLong.rawValue,
                message: "That is too long: \(bytes) bytes, and \(ClientLimits.textBytesMax) is the most.",
                field: "text")
        }
        return try Self.message(
            try await self.members("message_send") { json in
                json.add("to", chat.name)
                json.add("text", text)
                if let reply {
                    json.add("replyTo", reply.id)
                    json.add("replyFrom", reply.author)
                }
            })
    }

    /// - Parameter path: an absolute one. The file is copied before this returns.
    func send(file path: String, type: String, to chat: Conversation) async throws -> Message {
        try Self.message(
            try await self.members("attachment_send") { json in
                json.add("chat", chat.name)
                json.add("path", path)
                json.add("mimeType", type)
            })
    }

    /// Has the file of a message written.
    /// - Parameter path: an absolute one, at which nothing stands.
    func fetchFile(of message: Message, to path: String) async throws {
        _ = try await self.members("attachment_get") { json in
            json.add("messageId", message.id)
            json.add("from", message.peer)
            json.add("to", path)
        }
    }

    /// A message of ours as it stands.
    func outgoing(_ id: UUIDText) async throws -> Message {
        try Self.message(try await self.members("message_info") { json in json.add("messageId", id) })
    }

    /// A message that another one names, as it stands.
    /// - Returns: `nil` if it is not here.
    func message(_ reference: MessageReference, isOurs: Bool) async throws -> Message? {
        do {
            return try Self.message(
                try await self.members("message_info") { json in
                    json.add("messageId", reference.id)
                    if !isOurs { json.add("from", reference.author) }
                })
        } catch let refusal as Refusal where refusal.code == CoreError.Code.notFound.rawValue {
            return nil
        }
    }

    /// - Returns: the messages that are queued again.
    func retry(to chat: Conversation) async throws -> [UUIDText] {
        let members = try await self.members("message_retry") { json in json.add("chat", chat.name) }
        guard let text = members["messageIds"], case .array(let ids) = JSONText(text) else { throw Self.strange }
        return ids.compactMap { UUIDText(ascii: $0.dropFirst().dropLast()) }
    }

    /// - Returns: how many messages will not be sent.
    func cancel(to chat: Conversation) async throws -> Int {
        Int(try await self.members("message_cancel") { json in json.add("chat", chat.name) }.integer("count") ?? 0)
    }

    // MARK: Changing

    /// - Parameters:
    ///   - number: 1 is the latest one that is not deleted, 2 the one before it.
    ///   - isOurs: whether ours are counted, or those of others.
    /// - Returns: `nil` if there are not so many among the latest ones.
    func latest(_ number: Int, in chat: Conversation, isOurs: Bool) async throws -> Message? {
        let messages = try await self.messages(in: chat, limit: CoreLimits.listMax).map(\.message)
            .filter { ($0.state != nil) == isOurs && $0.content != .deleted }
        return number <= messages.count ? messages[messages.count - number] : nil
    }

    /// - Parameter reaction: takes the place of the one before. Empty: none any more.
    func react(_ reaction: String, to message: Message) async throws {
        _ = try await self.members("message_react") { json in
            json.add("chat", message.place.name)
            json.add("messageId", message.id)
            json.add("from", message.peer)
            json.add("reaction", reaction)
        }
    }

    func send(poll options: [String], asking question: String, to place: Conversation) async throws {
        _ = try await self.members("poll_send") { json in
            json.add("to", place.name)
            json.add("text", question)
            json.add("options", strings: options)
        }
    }

    func vote(_ choices: [Int], in message: Message) async throws {
        _ = try await self.members("poll_vote") { json in
            json.add("chat", message.place.name)
            json.add("messageId", message.id)
            if message.state == nil { json.add("from", message.peer) }
            json.add("choices", array: choices) { $1 += "\($0)".utf8 }
        }
    }

    /// Gives a message of ours another text.
    func edit(_ message: Message, _ text: String) async throws {
        _ = try await self.members("message_edit") { json in
            json.add("messageId", message.id)
            json.add("text", text)
        }
    }

    /// Deletes a message of ours.
    func delete(_ message: Message) async throws {
        _ = try await self.members("message_delete") { json in json.add("messageId", message.id) }
    }

    // MARK: Outbox

    /// The messages that wait to be sent, by the names of their chats.
    struct Outbox {
        /// Whether it is kept apart because of a ban.
        var isPaused: Bool
        var chats: [(chat: String, count: Int64)]
    }

    func outbox() async throws -> Outbox {
        let members = try await self.members("outbox_status")
        return Outbox(
            isPaused: members.bool("isPaused") ?? false,
            chats: members.objects("chats").compactMap { json in
                guard let chat = json.string("chat"), let count = json.integer("count") else { return nil }
                return (chat, count)
            })
    }

    func resumeOutbox() async throws { _ = try await self.members("outbox_resume") }

    /// - Returns: how many messages will not be sent.
    func discardOutbox() async throws -> Int {
        Int(try await self.members("outbox_discard").integer("count") ?? 0)
    }

    // MARK: Groups

    /// The title of a group; its id while the title is not known.
    func title(ofGroup id: String) async throws -> String { try await self.groupTitles()[id.lowercased()] ?? id }

    /// In quotation marks, by their ids.
    func groupTitles() async throws -> [String: String] {
        let groups = try await self.groups().filter { !$0.title.isEmpty }
        return Dictionary(
            groups.map { ($0.id, "“\(harmlessLine($0.title))”") }, uniquingKeysWith: { first, _ in first })
    }

    /// A group as it is listed.
    struct ListedGroup {
        var id: String
        /// Empty while it is not known.
        var title: String
        var isMember: Bool
        var members: Int64
        /// Members to whom nothing goes before the person here admits them.
        var newcomers: Int
    }

    /// By their titles.
    func groups() async throws -> [ListedGroup] {
        var found: [ListedGroup] = []
        while true {
            let page = try await self.members("group_list") { json in json.add("after", found.last?.id) }
            let groups = page.objects("groups").compactMap { group -> ListedGroup? in
                guard let id = group.string("groupId") else { return nil }
                return ListedGroup(
                    id: id, title: group.string("title") ?? "", isMember: group.bool("isMember") ?? false,
                    members: group.integer("members") ?? 0, newcomers: group.count("newcomers"))
            }
            found += groups
            guard page.bool("hasMore") == true, !groups.isEmpty else { return found }
        }
    }

    /// A member of a group.
    struct GroupMember {
        var id: WhisperID
        /// As this person is called here.
        var name: String?
        var role: String
    }

    /// The oldest member first.
    func members(ofGroup id: String) async throws -> [GroupMember] {
        try await self.members("group_members") { json in json.add("groupId", id) }.objects("members").compactMap {
            guard let id = $0.whisperID("whisperId") else { return nil }
            return GroupMember(id: id, name: $0.string("name"), role: $0.string("role") ?? "member")
        }
    }

    // MARK: Reading

    /// A message with its place in the store.
    typealias Numbered = (number: Int64, message: Message)

    private static func numbered(_ result: JSONMembers) -> [Numbered] {
        result.objects("messages").compactMap { Self.message(numbered: $0) }
    }

    private static func message(numbered json: JSONMembers) -> Numbered? {
        guard let number = json.integer("number"), let message = Message(json) else { return nil }
        return (number, message)
    }

    /// The latest messages of a chat, oldest first.
    /// - Parameter limit: at most `CoreLimits.listMax`.
    func messages(in chat: Conversation, limit: Int) async throws -> [Numbered] {
        try await self.history(of: chat, limit: limit).messages
    }

    /// The same, with what happened between them, and the people whose apps keep what should disappear.
    func history(
        of chat: Conversation, limit: Int
    ) async throws -> (messages: [Numbered], notes: [ChatNote], keepers: [WhisperID]) {
        let page = try await self.members("chat_get") { json in
            json.add("chat", chat.name)
            json.add("limit", Int64(limit))
        }
        return (Self.numbered(page), page.objects("notes").compactMap { ChatNote($0) }, page.whisperIDs("keepers"))
    }

    /// The latest messages of a chat that have all of the words, oldest first.
    func search(_ words: String, in chat: Conversation, limit: Int) async throws -> [Message] {
        let found = Self.numbered(
            try await self.members("search") { json in
                json.add("text", words)
                json.add("chat", chat.name)
                json.add("limit", Int64(limit))
            })
        return found.reversed().map(\.message)
    }

    /// What came and was not read, oldest first, and how much there is in all chats.
    /// - Parameter chat: only what came there.
    func unread(
        in chat: Conversation? = nil, limit: Int
    ) async throws -> (messages: [Numbered], count: Int64) {
        let (objects, count) = try await self.unreadObjects(in: chat, limit: limit)
        return (try objects.compactMap { Self.message(numbered: try Self.members($0)) }, count)
    }

    /// The same as the core writes them.
    func unreadObjects(
        in chat: Conversation? = nil, limit: Int
    ) async throws -> (objects: [[UInt8]], count: Int64) {
        var objects: [[UInt8]] = []
        while true {
            let part = min(limit - objects.count, CoreLimits.listMax)
            let last = try objects.last.flatMap { try Self.members($0).integer("number") }
            let page = try await self.members("message_unread") { json in
                json.add("chat", chat?.name)
                json.add("after", last ?? 0)
                json.add("limit", Int64(part))
            }
            guard let list = page["messages"], case .array(let found) = JSONText(list) else { throw Self.strange }
            objects += found
            guard found.count == part, objects.count < limit else { return (objects, page.integer("count") ?? 0) }
        }
    }

    /// The person has seen them.
    func markRead(objects: [[UInt8]]) async throws {
        try await self.markRead(try objects.compactMap { Self.message(numbered: try Self.members($0)) })
    }

    /// The person has seen all unread messages of these chats up to those of these messages that came last.
    func markRead(_ messages: [Numbered]) async throws {
        let last: [Conversation: Int64] = messages.reduce(into: [:]) { $0[$1.message.place] = $1.number }
        for (place, number) in last {
            _ = try await self.members("chat_read") { json in
                json.add("chat", place.name)
                json.add("upTo", number)
            }
        }
    }

    /// The person has seen this message.
    func markRead(_ message: Message) async throws {
        _ = try await self.members("message_read") { json in
            json.add("messageId", message.id)
            json.add("from", message.peer)
        }
    }

    /// Whether read marks wait for the server.
    func owesReadMarks() async throws -> Bool { try await self.members("store_info").bool("owesReadMarks") ?? false }
}

extension CoreClient.Refusal {
    private var known: CoreError.Code? { CoreError.Code(rawValue: self.code) }

    /// A file that is named cannot be read, or cannot be made.
    var isOfFile: Bool { self.known == .file }

    /// Something waits already, so that there is no room.
    var isFull: Bool { self.known == .tooMany }

    /// For the person at the terminal.
    var words: String {
        switch self.known {
        case .unknownContact: "Add this person first: `whisper add ID NAME`."
        case .bannedContact: "This person is banned from the server."
        case .blockedContact: "You have blocked this person."
        case .toSelf: "You cannot write to yourself."
        case .file where self.field == "to": "The file cannot be made. Is its name free, and its folder there?"
        case .file: "There is no such file, or it cannot be read."
        case .tooLarge: "The server takes no file of this size."
        case .tooMany: "Too many wait already."
        case .store: "The local store cannot be written (is the disk full?)."
        default: harmlessLine(self.message)
        }
    }

    /// The same of adding a contact.
    /// - Parameter newcomer: the Whisper ID, or "the link".
    func words(ofAdding newcomer: String) -> String {
        switch self.known {
        case .toSelf: "That is you."
        case .notFound: "Nobody has \(newcomer). Check it letter by letter."
        case .invalidField where self.field == "link": "That link is incomplete, or is no link for adding somebody."
        case .otherServer: "That link is of another server. Nobody was asked, and nobody was added."
        case .newerLink: "A later release of Whisper wrote that link. Update this one."
        case .offline: "The server does not know this session; try again."
        case .foreignKeys:
            "DANGER: the keys that the server gives out do not belong to \(newcomer). Nobody was added."
        case .changedKeys: "DANGER: the server now gives out other keys for \(newcomer). The known ones are kept."
        case .nameTaken: "Another contact has this name already."
        case .server: "The server answered strangely; try again later."
        case .unreachable: "Can't reach the server; try again later."
        default: self.words
        }
    }
}
