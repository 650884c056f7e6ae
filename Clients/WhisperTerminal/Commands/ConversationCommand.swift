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
    /// - Parameter words: what is said of a refusal.
    func with<T: Sendable>(
        _ words: (CoreClient.Refusal) -> String = describe(live:),
        _ body: (CoreClient, ListedConversation) async throws -> T
    ) async throws -> T {
        try await asking(self.options, words) { core in
            guard let conversation = try await core.conversation(named: self.name) else {
                throw Problem("You have no conversation \"\(self.name)\". `whisper conversation list` shows them.")
            }
            return try await body(core, conversation)
        }
    }
}

struct ConversationListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "Show your conversations, and what the server knows of them.")

    @OptionGroup var options: ProfileOptions
    @OptionGroup var list: ListOptions

    func run() async throws {
        guard !self.list.json else {
            return print(
                json: try await asking(self.options, describe(live:)) { core in
                    try await core.listed("live_list", "conversations")
                })
        }
        let conversations = try await asking(self.options, describe(live:)) { core in try await core.conversations() }
        if conversations.isEmpty { printLine("You have no conversation. `whisper whisper NAME` makes one.") }
        for conversation in conversations { printLine(describe(conversation)) }
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
        let change = ConversationChange(
            title: self.title, whisperer: self.whisperer, admission: self.admission, passcode: self.passcode,
            transcriptDays: self.keep, drawsLink: self.newLink)
        let changed = try await self.own.with(self.words) { core, conversation in
            try await core.update(conversation, change)
        }
        printLine("Link: \(changed.link)")
    }

    private func words(_ refusal: CoreClient.Refusal) -> String {
        guard refusal.field == "passcode" else { return describe(live: refusal) }
        return self.passcode == nil
            ? "Which --passcode?" : "A passcode lets people in with --admission passcode only."
    }
}

struct ConversationDeleteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete", abstract: "End a conversation for good, with its listeners, transcripts and shares.")

    @OptionGroup var own: OwnConversationOptions

    func run() async throws {
        try await self.own.with { core, conversation in try await core.delete(conversation) }
    }
}

struct TranscriptListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "transcripts", abstract: "Show the streams whose lines the server keeps.")

    @OptionGroup var own: OwnConversationOptions

    func run() async throws {
        let transcripts = try await self.own.with { core, conversation in
            try await core.transcripts(of: conversation)
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
        try await self.own.with { core, conversation in
            try await core.deleteTranscript(content, of: conversation)
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
        let asked = try self.transcript.map { "\(try transcriptID($0))" }
        let share = try await self.own.with { core, conversation in
            var content = asked
            if content == nil { content = try await core.transcripts(of: conversation).first?.content }
            guard let content else { throw Problem("The server keeps no line of it.") }
            return try await core.share(content, of: conversation, days: self.days)
        }
        printLine("Link: \(share.link)")
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
        try await self.own.with { core, conversation in try await core.unshare(share, of: conversation) }
    }
}

private func transcriptID(_ text: String) throws -> UUIDText {
    guard let id = UUIDText(text) else {
        throw Problem("\"\(text)\" is no id of a transcript. `whisper conversation transcripts NAME` shows them.")
    }
    return id
}
