import Contract
import WhisperClient

/// A chat for pipes: each line of input is a message, each event a line of output.
struct LineChat {
    let core: CoreClient
    let peer: Contact
    /// How long to listen on after the input ends.
    let linger: Duration

    var lines = Self.standardInput
    var say: @Sendable (String) -> Void = printLine

    /// Unread messages shown at the start. The next chat, or the inbox, has the rest.
    private static let missedMax = 1_000
    /// Lines that are read before they are sent. The pipe keeps the rest.
    private static let linesWaitingMax = 256

    private static var standardInput: ReadAhead<String> {
        ReadAhead(label: "standard-input", waitingMax: Self.linesWaitingMax) { readLine() }
    }

    /// - Returns: why the core has disconnected for good; `nil` when the input ended.
    /// - Throws: a `Problem` if the daemon has gone.
    func run() async throws -> StopReason? {
        let events = self.core.events()
        let style = Style.output
        let missed = try await self.core.unread(with: self.peer.id, limit: Self.missedMax).messages
        for (_, message) in missed { self.say(transcript(message, name: self.peer.shownName, style)) }
        try await self.core.markRead(missed)
        let seen = Set(missed.map(\.message.id))
        return try await withThrowingTaskGroup(of: StopReason?.self) { group in
            group.addTask {
                try await self.send()
                return nil
            }
            group.addTask { try await self.show(events, except: seen) }
            defer { group.cancelAll() }
            return try await group.next() ?? nil
        }
    }

    private func send() async throws {
        for await line in self.lines where !line.trimmed.isEmpty {
            do {
                _ = try await self.core.send(line, to: self.peer.id)
            } catch let refusal as CoreClient.Refusal {
                self.say(refusal.words)
            }
        }
        try await Task.sleep(for: self.linger)
    }

    /// - Parameter seen: messages that came while the chat opened, and were shown.
    private func show(_ events: AsyncStream<ClientEvent>, except seen: Set<UUIDText>) async throws -> StopReason? {
        let style = Style.output
        for await event in events {
            if case .connection(.stopped(let reason)) = event { return reason }
            guard case .received(let message) = event, message.peer == self.peer.id, message.isDirect else {
                if let line = self.line(event, style) { self.say(line) }
                continue
            }
            guard !seen.contains(message.id) else { continue }
            self.say(transcript(message, name: self.peer.shownName, style))
            try await self.core.markRead(message)
        }
        throw CoreClient.gone
    }

    private func line(_ event: ClientEvent, _ style: Style) -> String? {
        switch event {
        case .received(let message):
            return transcript(
                message, name: message.peer == self.peer.id ? self.peer.shownName : "\(message.peer)", style)
        case .changed(let message):
            guard message.state != .sending, message.state != .queued else { return nil }
            return transcript(message, name: message.state == nil ? self.peer.shownName : "", style)
        case .connection(.online): return "● online"
        case .connection(.away(let why, _)): return "○ away: \(why)"
        case .alarm(let alarm): return describe(alarm) { "\($0)" }
        case .backup(let news): return describe(news)
        case .connection, .caughtUp, .contact, .request, .group, .restored, .live, .room, .passing: return nil
        }
    }
}
