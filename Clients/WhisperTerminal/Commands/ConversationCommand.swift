import ArgumentParser
import Contract
import TerminalText
import WhisperClient

struct ConversationCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "conversation", abstract: "Look after the conversations in which you whisper.",
        subcommands: [
            ConversationListCommand.self, ConversationUpdateCommand.self, ConversationDeleteCommand.self,
            TranscriptListCommand.self, TranscriptDeleteCommand.self, ShareCommand.self, UnshareCommand.self,
        ])
}

/// One of the user's own conversations.
struct OwnConversationOptions: ParsableArguments {
    @OptionGroup var options: ProfileOptions
    @Argument(help: "The conversation, as you call it.") var name: String

    /// Connects, does one thing with it, and goes.
    func with<T: Sendable>(_ body: (WhisperClient, OwnConversation) async throws -> T) async throws -> T {
        try await asking(self.options, describeOwn) { client in
            guard let conversation = try await client.conversation(named: self.name) else {
                throw Problem("You have no conversation \"\(self.name)\". `whisper conversation list` shows them.")
            }
            return try await body(client, conversation)
        }
    }

    var origin: String { get throws { (try self.options.open().store.server() ?? .local).origin } }
}

struct ConversationListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "Show your conversations, and what the server knows of them.")

    @OptionGroup var options: ProfileOptions

    func run() async throws {
        let conversations = try await asking(self.options) { client in try await client.ownConversations() }
        if conversations.isEmpty { printLine("You have no conversation. `whisper whisper NAME` makes one.") }
        for (own, known) in conversations { printLine(describe(own, known)) }
    }
}

struct ConversationUpdateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "update", abstract: "Change what listeners see, who is let in, or the link.",
        discussion: """
            Without an answer of the server the change is kept here; the same command tells the server again. Whether lines are \
            kept counts from the next stream on.
            """)

    @OptionGroup var own: OwnConversationOptions
    @Option(help: "What listeners see it called.") var title: String?
    @Option(name: .customLong("as"), help: "What listeners see you called.") var whisperer: String?
    @Option(help: "Who is let in without asking you: nobody (knock), with the passcode, or with the link.")
    var admission: Admission?
    @Option(help: "Lets in whoever knows it.") var passcode: String?
    @Option(help: "Days for which the server keeps completed lines. 0: not at all.") var keep: Int?
    @Flag(help: "Draw another link. The one before opens nothing more; who was let in stays.") var newLink = false

    func validate() throws {
        for text in [self.title, self.whisperer, self.passcode].compactMap({ $0 }) where !isName(text) {
            throw ValidationError("Titles, names and passcodes have 1 to 64 characters, and none that controls.")
        }
        if let keep, !LiveLimits.transcriptDays.contains(Int64(keep)) {
            throw ValidationError("Lines are kept for \(LiveLimits.transcriptDays.upperBound) days at most.")
        }
    }

    func run() async throws {
        let origin = try self.own.origin
        let changed = try await self.own.with { client, before in
            var conversation = before
            conversation.title = self.title ?? before.title
            conversation.whisperer = self.whisperer ?? before.whisperer
            conversation.admission = self.admission ?? before.admission
            conversation.passcode = self.passcode ?? before.passcode
            conversation.transcriptDays = self.keep ?? before.transcriptDays
            if self.newLink { conversation.drawLink() }
            if conversation.admission != .passcode, self.passcode == nil { conversation.passcode = nil }
            guard conversation.admission != .passcode || conversation.passcode != nil else {
                throw Problem("Which --passcode?")
            }
            guard conversation.admission == .passcode || self.passcode == nil else {
                throw Problem("A passcode lets people in with --admission passcode only.")
            }
            try await client.update(conversation)
            return conversation
        }
        let link = ListenLink(origin: origin, conversation: changed.id, secret: changed.linkSecret)
        printLine("Link: \(link.text)")
    }
}

struct ConversationDeleteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete", abstract: "End a conversation for good, with its listeners, transcripts and shares.")

    @OptionGroup var own: OwnConversationOptions

    func run() async throws {
        try await self.own.with { client, conversation in try await client.delete(conversation.id) }
    }
}

struct TranscriptListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "transcripts", abstract: "Show the streams whose lines the server keeps.")

    @OptionGroup var own: OwnConversationOptions

    func run() async throws {
        let transcripts = try await self.own.with { client, conversation in
            try await client.transcripts(of: conversation.id)
        }
        if transcripts.isEmpty { printLine("The server keeps no line of it.") }
        for transcript in transcripts { printLine(describe(transcript)) }
    }
}

struct TranscriptDeleteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete-transcript", abstract: "Have the server forget the lines of a stream, and its shares.")

    @OptionGroup var own: OwnConversationOptions
    @Argument(help: "Its id, as `transcripts` shows it.") var transcript: String

    func run() async throws {
        let content = try transcriptID(self.transcript)
        try await self.own.with { client, conversation in
            try await client.deleteTranscript(content, of: conversation.id)
        }
    }
}

struct ShareCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "share", abstract: "Give the lines of a stream to whoever gets the link.",
        discussion: """
            The link opens a page in a browser. Lines that are said later with the same keys can be read as well.
            """)

    @OptionGroup var own: OwnConversationOptions
    @Argument(help: "The transcript's id, as `transcripts` shows it. Default: the newest.") var transcript: String?
    @Option(help: "Days for which the link opens something, 1 to 365. It ends with the transcript.") var days = 30

    func validate() throws {
        guard (1...365).contains(self.days) else { throw ValidationError("A link opens something for 1 to 365 days.") }
    }

    func run() async throws {
        let origin = try self.own.origin
        let asked = try self.transcript.map { try transcriptID($0) }
        let share = try await self.own.with { client, conversation in
            var content = asked
            if content == nil { content = try await client.transcripts(of: conversation.id).first?.content }
            guard let content else { throw Problem("The server keeps no line of it.") }
            return try await client.share(content, of: conversation, expiresIn: .seconds(self.days * 86_400))
        }
        printLine("Link: \(share.link(origin: origin))")
        printLine("Share: \(share.id), until \(day(share.expiresAt))")
    }
}

struct UnshareCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unshare", abstract: "Let the link of a shared transcript open nothing more.")

    @OptionGroup var own: OwnConversationOptions
    @Argument(help: "The share's id, as `share` has shown it; it stands in the link as well.") var share: String

    func run() async throws {
        guard let share = UUIDText(self.share) else { throw Problem("\"\(self.share)\" is no id of a share.") }
        try await self.own.with { client, conversation in try await client.unshare(share, of: conversation.id) }
    }
}

/// What a command on one's own conversation says of a failure: no link is in it.
private func describeOwn(_ error: LiveError) -> String {
    guard case .notFound = error else { return describe(error) }
    return "The server has no such lines or share: they were deleted, or their time is over."
}

private func transcriptID(_ text: String) throws -> UUIDText {
    guard let id = UUIDText(text) else {
        throw Problem("\"\(text)\" is no id of a transcript. `whisper conversation transcripts NAME` shows them.")
    }
    return id
}
