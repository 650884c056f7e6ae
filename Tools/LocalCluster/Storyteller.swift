import Contract
import Logging
import WhisperClient

/// Somebody who types into a live conversation while anybody listens, so that a newcomer sees one in a browser at once.
/// Nobody is asked for admission: the link lets in. Lines are not kept.
actor Storyteller {
    /// Opens the conversation in a browser. The same in each run that has the same data folder.
    nonisolated let link: String
    private let client: WhisperClient
    private let conversation: OwnConversation
    private var hasBegun = false
    /// Answers to listeners, which go before the story.
    private var answers: [String] = []
    private var lastLine = ""
    /// Between two keys.
    private var pause = Storyteller.pauseMin

    private static let name = "welcome"
    private static let pauseMin = Duration.milliseconds(55)
    private static let pauseMax = Duration.milliseconds(220)
    private static let betweenLines = Duration.milliseconds(900)
    private static let betweenStories = Duration.seconds(15)
    private static let answersMax = 4

    /// - Parameter folder: of its profile. It is made anew if it cannot be used.
    init(endpoint: String, origin: String, folder: String) async throws {
        guard let server = ServerAddress(endpoint) else { throw ProfileError.unusable("the endpoint cannot be read") }
        let profile =
            Profile.exists(at: folder)
            ? try Profile.open(at: folder) : try Profile.create(at: folder, mnemonic: .random(), server: server)
        self.client = try WhisperClient(
            profile: profile, server: NetworkLink(server),
            logger: Logger(label: Self.name) { _ in SwiftLogNoOpLogHandler() })
        if let known = try self.client.conversations.find(named: Self.name) {
            self.conversation = known
        } else {
            self.conversation = try await self.client.with {
                try $0.conversations.make(
                    name: Self.name, title: "Welcome to Whisper", whisperer: "Whisper", admission: .link,
                    passcode: nil, transcriptDays: 0, $0)
            }
        }
        self.link =
            ListenLink(
                origin: origin, conversation: self.conversation.id,
                secret: self.conversation.linkSecret
            ).text
    }

    /// Is there until the task is cancelled.
    func run() async {
        let (heard, hears) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let events = await self.client.events()
        await withTaskGroup(of: Void.self) { group in
            group.addTask { _ = await self.client.run() }
            group.addTask {
                for await _ in heard { await self.tell() }
            }
            try? await self.client.with { try $0.streams.whisper(in: self.conversation, $0) }
            for await event in events {
                guard case .live(self.conversation.id, let news) = event else { continue }
                self.take(news)
                hears.yield()
            }
            hears.finish()
            await self.client.close()
            group.cancelAll()
        }
    }

    /// Whether the link opens something by now.
    func begins(within limit: Duration) async -> Bool {
        let deadline = ContinuousClock.now + limit
        while !self.hasBegun, ContinuousClock.now < deadline, !Task.isCancelled {
            try? await Task.sleep(for: .milliseconds(50))
        }
        return self.hasBegun
    }

    private func take(_ news: LiveNews) {
        switch news {
        case .started: self.hasBegun = true
        case .attention(_, let name, .hand): self.answer("I see your hand, \(name).")
        case .attention(_, _, .repeat): self.answer(self.lastLine)
        case .attention(_, let name, .slower):
            self.pause = min(self.pause * 2, Self.pauseMax)
            self.answer("More slowly then, \(name).")
        default: break
        }
    }

    private func answer(_ line: String) {
        if self.answers.count < Self.answersMax { self.answers.append(line) }
    }

    // MARK: The story

    /// Begins at the beginning when the first listener comes. Returns when nobody listens, or the task is cancelled.
    private func tell() async {
        do {
            while await self.isHeard {
                for line in Self.story {
                    while !self.answers.isEmpty { try await self.type(self.answers.removeFirst()) }
                    guard await self.isHeard else { return }
                    try await self.type(line)
                    self.lastLine = line.replacing("\u{8}", with: "")
                }
                try await Task.sleep(for: Self.betweenStories)
            }
        } catch {
            return  // cancelled, the only thing that is thrown
        }
    }

    private var isHeard: Bool { get async { await self.client.with { $0.streams.isHeard(in: self.conversation.id) } } }

    /// Key by key. U+0008 takes the last key back.
    private func type(_ line: String) async throws {
        var typed = ""
        for key in line {
            if key == "\u{8}" { typed.removeLast() } else { typed.append(key) }
            await self.show(typed)
            try await Task.sleep(for: self.pause)
        }
        await self.show(typed + "\n")
        try await Task.sleep(for: Self.betweenLines)
    }

    /// Text that finds no room while the server is away is left out.
    private func show(_ text: String) async {
        try? await self.client.with { try $0.streams.type(text, in: self.conversation.id, $0) }
    }

    private static let story = [
        "Hello. You read this while it is being typed.",
        "Each key goes out sealed, and is opened in your browser. The server in between cannot read it.",
        "What I chnage\u{8}\u{8}\u{8}\u{8}\u{8}hange my mind about, you see me change.",
        "",
        "A line that is complete moves up into the text. Somebody who joins later begins with the line of now.",
        "Try the buttons: larger letters, dark colours, a voice that reads aloud. Or raise your hand.",
        "Try this, too: stop a gateway while I type. The text goes on where it was.",
        "",
        "To type yourself, look into the terminal from which you have this link.",
        "That is all. It begins again in a moment.",
        "",
    ]
}
