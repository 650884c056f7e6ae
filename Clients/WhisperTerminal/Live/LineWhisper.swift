import Contract
import TerminalText
import WhisperClient
import WhisperCore

/// Whispering for pipes: each line of input is said as it is, each event is a line of output.
struct LineWhisper {
    let core: CoreClient
    let conversation: ListedConversation
    /// Whether the link is shown as a picture, too.
    var drawsLink = false

    var lines = ReadAhead(label: "standard-input", waitingMax: Self.linesWaitingMax) { readLine() }
    var say: @Sendable (String) -> Void = printLine

    /// Lines that are read before they are said. The pipe keeps the rest.
    private static let linesWaitingMax = 64
    /// How long what was said may take to go out after the input has ended.
    private static let lastWordsMax = Duration.seconds(10)
    /// Between two looks whether there is room again.
    private static let patience = Duration.milliseconds(20)

    /// Whispers until the input ends, or until Ctrl-C.
    /// - Returns: why the core has disconnected for good; `nil` when the input or the user ended it.
    /// - Throws: a `CoreClient.Refusal`, or a `Problem` if the daemon has gone or was disconnected.
    func run() async throws -> StopReason? {
        try await self.core.holdWhispering(in: self.conversation.id)
        let events = self.core.events()
        let end = try await untilInterrupted { () -> StopReason? in
            try await self.core.whisper(in: self.conversation.id)
            return try await withThrowingTaskGroup(of: StopReason?.self) { group in
                group.addTask {
                    try await self.read()
                    return nil
                }
                group.addTask { try await self.show(events) }
                defer { group.cancelAll() }
                return try await group.next() ?? nil
            }
        }
        if end == nil { try? await self.core.stopWhispering(in: self.conversation.id) }
        return end ?? nil
    }

    private func read() async throws {
        let control = WhisperControl(core: self.core, conversation: self.conversation.id)
        reading: for await line in self.lines {
            let order = WhisperOrder(line: line)
            if case .text(let text) = order {
                for piece in CoreClient.pieces(of: text + "\n") { try await self.type(piece) }
                continue
            }
            guard let words = try await control.perform(order) else { break reading }
            for line in words { self.say(line) }
        }
        guard !Task.isCancelled else { return }
        try await self.core.stopWhispering(in: self.conversation.id, lastWords: Self.lastWordsMax)
    }

    /// A pipe waits for room; nothing is left out.
    private func type(_ piece: String) async throws {
        while true {
            do {
                return try await self.core.type(piece, in: self.conversation.id)
            } catch let refusal as CoreClient.Refusal where refusal.isFull {
                try await Task.sleep(for: Self.patience)
            }
        }
    }

    private func show(_ events: AsyncStream<ClientEvent>) async throws -> StopReason? {
        var hasStarted = false
        for await event in events {
            switch event {
            case .connection(CoreClient.disconnected): throw CoreClient.ended
            case .connection(.stopped(let reason)): return reason
            case .connection(.away(let why, _)): self.say("○ Can't reach the server: \(why)")
            case .live(self.conversation.id, let news):
                let words = describe(news) { "/accept \($0) or /decline \($0)" }
                if let words { self.say(words) }
                guard case .started = news, !hasStarted else { continue }
                hasStarted = true
                // As soon as it opens something. Alone on its line: whoever copies the line has the link.
                self.say("Link:")
                self.say(self.conversation.link)
                if self.drawsLink {
                    for line in QRCode(self.conversation.link)?.lines(.output) ?? [] { self.say(line) }
                }
            default: break
            }
        }
        throw CoreClient.gone
    }
}

/// At once: whoever reads a pipe waits for each line. Not by `fflush`: it waits for the stream that another thread reads.
@Sendable func printLine(_ line: String) { RawTerminal.write(Style.output.worded(line) + "\n") }
