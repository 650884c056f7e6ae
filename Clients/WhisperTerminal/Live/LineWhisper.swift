import Contract
import WhisperClient

/// Whispering for pipes: each line of input is said as it is, each event is a line of output.
struct LineWhisper {
    let client: WhisperClient
    let conversation: OwnConversation
    /// For listeners; shown as soon as it opens something.
    let link: String

    var lines = ReadAhead(label: "standard-input", waitingMax: Self.linesWaitingMax) { readLine() }
    var say: @Sendable (String) -> Void = printLine

    /// Lines that are read before they are said. The pipe keeps the rest.
    private static let linesWaitingMax = 64
    /// How long what was said may take to go out after the input has ended.
    private static let lastWordsMax = Duration.seconds(10)
    /// Between two looks whether there is room again, or all has gone out.
    private static let patience = Duration.milliseconds(20)

    /// - Returns: why the client stopped by itself; `nil` when the input ended.
    func run() async throws -> StopReason? {
        let events = await self.client.events()
        try await self.client.whisper(in: self.conversation)
        return try await withThrowingTaskGroup(of: StopReason?.self) { group in
            group.addTask {
                try await self.read()
                return nil
            }
            group.addTask { await self.show(events) }
            defer { group.cancelAll() }
            return try await group.next() ?? nil
        }
    }

    private func read() async throws {
        let control = WhisperControl(client: self.client, conversation: self.conversation.id)
        reading: for await line in self.lines {
            let order = WhisperOrder(line: line)
            if case .text(let text) = order {
                try await self.type(text)
                continue
            }
            guard let words = try await control.perform(order) else { break reading }
            for line in words { self.say(line) }
        }
        let deadline = ContinuousClock.now + Self.lastWordsMax
        while await !self.client.hasSentAll(of: self.conversation.id), ContinuousClock.now < deadline {
            try await Task.sleep(for: Self.patience)
        }
        try await self.client.stopWhispering(in: self.conversation.id)
    }

    /// A pipe waits for room; nothing is left out.
    private func type(_ text: String) async throws {
        while true {
            do throws(WhispererMachine.Full) {
                return try await self.client.type(text + "\n", in: self.conversation.id)
            } catch {
                try await Task.sleep(for: Self.patience)
            }
        }
    }

    private func show(_ events: AsyncStream<ClientEvent>) async -> StopReason? {
        var hasStarted = false
        for await event in events {
            switch event {
            case .connection(.stopped(let reason)): return reason
            case .connection(.away(let why, _)): self.say("○ away: \(why)")
            case .live(self.conversation.id, let news):
                let words = describe(news) { "/accept \($0) or /decline \($0)" }
                if let words { self.say(words) }
                guard case .started = news, !hasStarted else { continue }
                hasStarted = true
                self.say("Link: \(self.link)")
            default: break
            }
        }
        return nil
    }
}

/// At once: whoever reads a pipe waits for each line. Not by `fflush`: it waits for the stream that another thread reads.
@Sendable func printLine(_ line: String) { RawTerminal.write(line + "\n") }
