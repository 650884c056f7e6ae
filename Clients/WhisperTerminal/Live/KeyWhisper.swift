import Contract
import TerminalText
import WhisperClient

/// Whispering on a real terminal: listeners see each key. Ctrl-O opens a row for orders, which nobody sees.
actor KeyWhisper {
    private let core: CoreClient
    private let conversation: ListedConversation
    private let control: WhisperControl

    private let style = Style.output
    private var screen: ChatScreen
    private var editor = LineEditor()
    /// A line typed there is an order, not text.
    private var order: LineEditor?
    /// The line began with `//`: its `/` is text.
    private var isSlashText = false
    private var keys = KeyReader()
    private var isLive = false
    private let drawsLink: Bool
    private var hasStarted = false
    private var joined = 0

    /// Reads of the keyboard that are not handled. The terminal keeps the rest.
    private static let readsWaitingMax = 64

    /// - Parameter drawsLink: whether the link is shown as a picture, too.
    init(core: CoreClient, conversation: ListedConversation, drawsLink: Bool) {
        self.core = core
        self.drawsLink = drawsLink
        self.conversation = conversation
        self.control = WhisperControl(core: core, conversation: conversation.id)
        let size = RawTerminal.size
        self.screen = ChatScreen(width: size.width, height: size.height)
    }

    /// - Returns: why the core has disconnected for good; `nil` when the person ended it.
    /// - Throws: a `CoreClient.Refusal`, or a `Problem` if the daemon has gone or was disconnected.
    func run() async throws -> StopReason? {
        try await self.core.holdWhispering(in: self.conversation.id)
        let keyboard = ReadAhead(label: "standard-input", waitingMax: Self.readsWaitingMax, read: readKeys)
        let events = self.core.events()
        self.say("\(harmlessLine(self.conversation.title)) · each key is seen · Enter ends a line, Ctrl-D the stream")
        self.say("Ctrl-Y lets in who asks, Ctrl-X declines, a line that begins with / is an order: /help lists them")
        self.draw()
        defer { RawTerminal.write("\r\u{1B}[K") }
        try await self.core.whisper(in: self.conversation.id)
        return try await withThrowingTaskGroup(of: StopReason?.self) { group in
            group.addTask {
                try await self.read(keyboard)
                return nil
            }
            group.addTask { try await self.show(events) }
            defer { group.cancelAll() }
            return try await group.next() ?? nil
        }
    }

    /// Returns when the person leaves.
    private func read(_ keyboard: ReadAhead<[UInt8]>) async throws {
        reading: for await bytes in keyboard {
            for key in self.keys.read(bytes) {
                guard try await self.press(key) else { break reading }
            }
        }
        guard !Task.isCancelled else { return }
        // Without the server the stream pauses, and goes on the next time.
        try? await self.core.stopWhispering(in: self.conversation.id)
    }

    /// - Returns: whether it goes on.
    private func press(_ key: Key) async throws -> Bool {
        switch key {
        case .redraw:
            let size = RawTerminal.size
            RawTerminal.write(self.screen.resize(width: size.width, height: size.height, self.editor))
        case .accept: return try await self.perform(.accept(nil))
        case .decline: return try await self.perform(.decline(nil))
        case .order: self.order = self.order == nil ? LineEditor() : nil
        default:
            guard var order = self.order else { return try await self.type(key) }
            // The second `/` of two: the first one was text.
            if order.text == ["/"], case .text(let typed) = key, typed.hasPrefix("/") {
                self.order = nil
                return try await self.type(.text("/" + typed))
            }
            switch order.handle(key) {
            case .edited: self.order = order.text.isEmpty ? nil : order
            case .leave: self.order = nil
            case .entered(let text):
                self.order = nil
                let order = text.trimmed
                if !order.isEmpty {
                    return try await self.perform(WhisperOrder(order: String(order.trimmingPrefix("/"))))
                }
            }
        }
        self.draw()
        return true
    }

    private func type(_ key: Key) async throws -> Bool {
        var key = key
        if case .text(let typed) = key, self.editor.text.isEmpty {
            // Listeners see each key: an order gets its own row with the first one.
            guard case .text(let text) = SlashLine(typed) else {
                var row = LineEditor()
                _ = row.handle(.text(typed.trimmed))
                self.order = row
                self.draw()
                return true
            }
            self.isSlashText = text != typed
            key = .text(text)
        }
        return try await self.send(key)
    }

    private func send(_ key: Key) async throws -> Bool {
        let before = self.editor
        let text: String
        switch self.editor.handle(key) {
        case .leave: return false
        case .edited: text = String(self.editor.text)
        case .entered(let line): text = line + "\n"
        }
        // A line that has become an order: by moving the cursor, or inside of what was pasted.
        let isOrder = text.split(separator: "\n").enumerated().contains { place, line in
            if place == 0, self.isSlashText { return false }
            if case .order = SlashLine(String(line)) { return true }
            return false
        }
        guard !isOrder else {
            self.editor = before
            self.say("A line that begins with / is an order. Nobody was shown what you typed last.")
            self.draw()
            return true
        }
        do {
            for piece in CoreClient.pieces(of: text) { try await self.core.type(piece, in: self.conversation.id) }
        } catch let refusal as CoreClient.Refusal where refusal.isFull {
            self.editor = before
            self.say("Too much waits to be sent. What you typed last was not taken.")
            self.draw()
            return true
        }
        let (lines, rest) = TypedText.split(text)
        for line in lines { self.say(harmlessLine(line.string), painted: false) }
        if !lines.isEmpty { self.editor.set(rest.string) }
        self.draw()
        return true
    }

    private func perform(_ order: WhisperOrder) async throws -> Bool {
        let words = try await self.control.perform(order)
        for line in words ?? [] { self.say(line) }
        self.draw()
        return words != nil
    }

    private func show(_ events: AsyncStream<ClientEvent>) async throws -> StopReason? {
        for await event in events {
            switch event {
            case .connection(CoreClient.disconnected): throw CoreClient.ended
            case .connection(.stopped(let reason)): return reason
            case .connection(.away(let why, _)):
                self.isLive = false
                self.say("Can't reach the server (\(why)). What you type goes out when it is back.")
            case .live(self.conversation.id, let news): self.show(news)
            default: break
            }
            self.draw()
        }
        throw CoreClient.gone
    }

    private func show(_ news: LiveNews) {
        switch news {
        case .started: self.isLive = true
        case .stopped, .refused: self.isLive = false
        case .listener(_, _, _, let joined): self.joined = joined
        default: break
        }
        if let words = describe(news, hint: { _ in "Ctrl-Y lets them in, Ctrl-X declines." }) { self.say(words) }
        guard case .started = news, !self.hasStarted else { return }
        self.hasStarted = true
        // For listeners: as soon as it opens something.
        RawTerminal.write(
            self.screen.add(ChatScreen.Line(text: self.conversation.link, isWhole: true), self.editor))
        guard self.drawsLink else { return }
        for line in QRCode(self.conversation.link)?.lines(Style(isOn: false)) ?? [] {
            RawTerminal.write(
                self.screen.add(ChatScreen.Line(text: line, paint: self.style.dark, isWhole: true), self.editor))
        }
    }

    private func say(_ text: String, painted: Bool = true) {
        let line =
            painted ? ChatScreen.Line(text: text, paint: self.style.dim) : ChatScreen.Line(mark: "▸", text: text)
        RawTerminal.write(self.screen.add(line, self.editor))
    }

    /// The last row: how many listen, and what is being typed.
    private func draw() {
        if let order {
            return RawTerminal.write(self.screen.set(prompt: self.style.yellow("order") + " ▸ ", columns: 8, order))
        }
        let count = "\(self.joined)"
        let sign = self.isLive ? self.style.green("●") : self.style.yellow("○")
        RawTerminal.write(
            self.screen.set(prompt: "\(sign) \(count) ▸ ", columns: 5 + count.count, self.editor))
    }
}
