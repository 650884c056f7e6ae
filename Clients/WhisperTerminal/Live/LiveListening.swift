import Contract
import Dispatch
import Glibc
import WhisperClient

/// Shows a conversation as it is whispered, on a terminal or in a pipe.
actor LiveListening {
    private let client: WhisperClient
    private let conversation: ConversationID
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

    init(client: WhisperClient, conversation: ConversationID, whisperer: String, leavesAtEnd: Bool) {
        self.client = client
        self.conversation = conversation
        self.whisperer = whisperer
        self.leavesAtEnd = leavesAtEnd
        self.screen = ListenScreen(isPlain: isatty(STDOUT_FILENO) == 0, width: RawTerminal.size.width)
    }

    /// Runs until Ctrl-C, or until there is nothing more to hear.
    func run(_ events: AsyncStream<ClientEvent>) async -> End {
        let (interrupts, interrupted) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        signal(SIGINT, SIG_IGN)
        let signals = DispatchSource.makeSignalSource(signal: SIGINT)
        signals.setEventHandler { interrupted.yield() }
        signals.resume()
        defer { signals.cancel() }
        let end = await withTaskGroup(of: End?.self) { group in
            group.addTask { await self.show(events) }
            group.addTask {
                for await _ in interrupts { return .left }
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
        try? await self.client.stopListening(to: self.conversation)
        return end ?? .left
    }

    private func show(_ events: AsyncStream<ClientEvent>) async -> End? {
        for await event in events {
            switch event {
            case .connection(.stopped(let reason)): return .stopped(reason)
            case .connection(.away(let why, _)): self.write(self.screen.add("○ away: \(why)"))
            case .live(self.conversation, .over(let end, let note)):
                return .over(describe(end, whisperer: self.whisperer, note: note))
            case .live(self.conversation, let news):
                self.show(news)
                if self.leavesAtEnd, news == .state(.ended) { return .left }
            default: break
            }
        }
        return nil
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
            if let words = describe(news, whisperer: self.whisperer) { self.write(self.screen.add(words)) }
        }
    }

    private func write(_ text: String) { RawTerminal.write(text) }
}
