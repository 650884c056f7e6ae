import Contract
import TerminalText
import WhisperClient
import WhisperCore

/// A chat for pipes: each line of input is a message or an order, each event a line of output.
struct LineChat {
    let core: CoreClient
    let partner: ChatPartner
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
        let control = ChatControl(core: self.core, partner: self.partner)
        let events = self.core.events()
        let style = Style.output
        var words = try await ChatWords(core: self.core, partner: self.partner)
        if let notice = words.strangerNotice { self.say(notice) }
        if let notice = try await self.core.outboxNotice() { self.say(notice) }
        let (latest, _, keepers) = try await self.core.history(of: self.partner.place, limit: CoreLimits.listMax)
        for (_, message) in latest { words.saw(message) }
        if let line = words.warning(of: keepers) { self.say(line) }
        let missed = try await self.core.unread(in: self.partner.place, limit: Self.missedMax).messages
        for (_, message) in missed {
            await control.saw(message)
            words.saw(message)
            self.say(words.line(message, style))
        }
        try await self.core.markRead(missed)
        let (seen, start) = (Set(missed.map(\.message.id)), words)
        return try await withThrowingTaskGroup(of: StopReason?.self) { group in
            group.addTask {
                try await self.read(control, start)
                return nil
            }
            group.addTask { try await self.show(events, control, start, except: seen) }
            defer { group.cancelAll() }
            return try await group.next() ?? nil
        }
    }

    private func read(_ control: ChatControl, _ words: ChatWords) async throws {
        reading: for await line in self.lines {
            switch try await control.perform(ChatOrder(line)) {
            case .said(let remarks): for remark in remarks { self.say(remark.text) }
            case .found(let messages): for message in messages { self.say(words.line(message, .output)) }
            case .left(let remarks):
                for remark in remarks { self.say(remark.text) }
                break reading
            }
        }
        try await Task.sleep(for: self.linger)
    }

    /// - Parameter seen: messages that came while the chat opened, and were shown.
    private func show(
        _ events: AsyncStream<ClientEvent>, _ control: ChatControl, _ words: ChatWords, except seen: Set<UUIDText>
    ) async throws -> StopReason? {
        let style = Style.output
        var words = words
        for await event in events {
            switch event {
            case .connection(.stopped(let reason)): return reason
            case .connection(.online): self.say("● online")
            case .connection(.away(let why, _)): self.say("○ Can't reach the server: \(why)")
            case .received(let message) where words.isHere(message):
                guard !seen.contains(message.id) else { continue }
                await control.saw(message)
                words.saw(message)
                self.say(words.line(message, style))
                try await self.core.markRead(message)
            case .received(let message): if let line = try await words.elsewhere(message) { self.say(line) }
            case .changed(let message):
                if message.state == nil, let remarks = await control.saved(message) {
                    for remark in remarks { self.say(remark.text) }
                }
                guard words.isHere(message) else { continue }
                let (lines, hasMoved) = words.changes(to: message)
                for line in lines { self.say(line) }
                guard hasMoved, message.state != .sending, message.state != .queued else { continue }
                self.say(words.line(message, style))
            case .passing(.timer(self.partner.place, let person, let seconds)):
                self.say(words.timer(by: person, seconds: seconds))
            case .passing(.chat(let state)) where state.place == self.partner.place:
                if let line = words.warning(of: state.keepers) { self.say(line) }
            case .contact(let contact), .request(let contact): words.met(contact)
            case .alarm(let alarm): self.say(describe(alarm) { words.name($0) })
            case .backup(let news): if let line = describe(news) { self.say(line) }
            case .connection, .caughtUp, .group, .restored, .live, .room, .passing: break
            }
        }
        throw CoreClient.gone
    }
}
