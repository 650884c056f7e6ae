import Contract
import Glibc
import TerminalText
import WhisperClient

/// Shows a conversation as it is whispered, on a terminal or in a pipe.
actor LiveListening {
    private let core: CoreClient
    private let wish: ListenWish
    private let whisperer: String
    /// Whether the end of the stream ends the command.
    private let leavesAtEnd: Bool
    private var screen: ListenScreen
    /// The greatest number of a line that was shown.
    private var newestLine = 0

    enum End: Sendable {
        /// The user left, or the stream has ended and was all that was wanted.
        case left
        case over(String)
        case stopped(StopReason)
    }

    init(core: CoreClient, wish: ListenWish, whisperer: String, leavesAtEnd: Bool) {
        self.core = core
        self.wish = wish
        self.whisperer = whisperer
        self.leavesAtEnd = leavesAtEnd
        self.screen = ListenScreen(
            isPlain: isatty(STDOUT_FILENO) == 0 || Style.isTerminalPlain, width: RawTerminal.size.width)
    }

    private var conversation: ConversationID { self.wish.link.conversation }

    /// Listens until Ctrl-C, or until there is nothing more to hear.
    /// - Throws: a `CoreClient.Refusal`, or a `Problem` if the daemon has gone or was disconnected.
    func run() async throws -> End {
        try await self.core.holdListening(to: self.conversation)
        let events = self.core.events()
        let end = try await untilInterrupted {
            try await self.core.listen(self.wish)
            return try await self.show(events)
        }
        try? await self.core.stopListening(to: self.conversation)
        return end ?? .left
    }

    private func show(_ events: AsyncStream<ClientEvent>) async throws -> End {
        for await event in events {
            switch event {
            case .connection(CoreClient.disconnected): throw CoreClient.ended
            case .connection(.stopped(let reason)): return .stopped(reason)
            case .connection(.away(let why, _)): self.write(self.screen.add(Style.output.worded("○ away: \(why)")))
            case .live(self.conversation, .over(let end, let note)):
                return .over(describe(end, whisperer: self.whisperer, note: note))
            case .live(self.conversation, let news):
                self.show(news)
                if self.leavesAtEnd, news == .state(.ended) { return .left }
            default: break
            }
        }
        throw CoreClient.gone
    }

    private func show(_ news: LiveNews) {
        switch news {
        case .heard(.text(let text)): self.write(self.screen.show(live: text.string))
        case .heard(.began): self.newestLine = 0
        case .heard(.line(let number, let text)):
            // Shown lines stay where they are, so one that comes late says where it belongs.
            let isLate = number < self.newestLine
            self.newestLine = max(self.newestLine, number)
            self.write(self.screen.add(isLate ? "… line \(number): \(text.string)" : text.string))
        default:
            if let words = describe(news, whisperer: self.whisperer) {
                self.write(self.screen.add(Style.output.worded(words)))
            }
        }
    }

    private func write(_ text: String) { RawTerminal.write(text) }
}
