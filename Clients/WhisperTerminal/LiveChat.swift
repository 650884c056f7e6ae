import Contract
import Dispatch
import Glibc
import WhisperClient

/// A chat on a real terminal: the prompt stays on the last row, everything else appears above it.
struct LiveChat {
    let client: WhisperClient
    let peer: Contact

    private enum Input: Sendable {
        case bytes([UInt8])
        case event(ClientEvent)
        case resized
        case clientEnded
    }

    private static let inputsWaitingMax = 4_096
    private static let messagesShown = 30

    private let style = Style.output
    private var screen: ChatScreen
    private var editor = LineEditor()
    private var keys = KeyReader()
    private var names: [WhisperID: String] = [:]
    /// The server was said to be away, and has not been said to be back.
    private var saidAway = false

    init(client: WhisperClient, peer: Contact) {
        self.client = client
        self.peer = peer
        let size = RawTerminal.size
        self.screen = ChatScreen(width: size.width, height: size.height)
    }

    /// - Returns: why the client stopped by itself; `nil` when the person left.
    func run() async throws -> StopReason? {
        var chat = self
        return try await chat.talk()
    }

    private mutating func talk() async throws -> StopReason? {
        let (inputs, continuation) = AsyncStream.makeStream(
            of: Input.self, bufferingPolicy: .bufferingOldest(Self.inputsWaitingMax))
        standardInput { continuation.yield(.bytes($0)) }
        signal(SIGWINCH, SIG_IGN)
        let resizes = DispatchSource.makeSignalSource(signal: SIGWINCH)
        resizes.setEventHandler { continuation.yield(.resized) }
        resizes.resume()
        defer { resizes.cancel() }

        let events = await self.client.events()
        try await self.open()
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for await event in events { continuation.yield(.event(event)) }
                continuation.yield(.clientEnded)
            }
            defer { group.cancelAll() }
            for await input in inputs {
                switch input {
                case .bytes(let bytes):
                    if bytes.isEmpty { return self.leave() }
                    for key in self.keys.read(bytes) {
                        if try await self.press(key) { return self.leave() }
                    }
                case .resized:
                    let size = RawTerminal.size
                    RawTerminal.write(self.screen.resize(width: size.width, height: size.height, self.editor))
                case .clientEnded: return self.leave()
                case .event(.connection(.stopped(let reason))):
                    _ = self.leave()
                    return reason
                case .event(let event): try await self.show(event)
                }
            }
            return nil
        }
    }

    private mutating func open() async throws {
        for contact in try await self.client.contacts() { self.names[contact.id] = TextWidth.harmless(contact.shownName) }
        self.prompt(isOnline: false)
        let who = self.peer.name.map { "\(TextWidth.harmless($0)) · \(self.peer.id)" } ?? "\(self.peer.id)"
        self.say("Chat with \(who) · Enter sends, Ctrl-D leaves", self.style.dim)
        for message in try await self.client.messages(with: self.peer.id, limit: Self.messagesShown) { self.add(message) }
        try await self.client.markRead(self.peer.id)
    }

    private func leave() -> StopReason? {
        RawTerminal.write("\r\u{1B}[K")
        return nil
    }

    /// - Returns: whether the person wants to leave.
    private mutating func press(_ key: Key) async throws -> Bool {
        if key == .redraw {
            let size = RawTerminal.size
            RawTerminal.write(self.screen.resize(width: size.width, height: size.height, self.editor))
            return false
        }
        switch self.editor.handle(key) {
        case .edited: RawTerminal.write(self.screen.promptRow(self.editor))
        case .leave: return true
        case .entered(let line):
            RawTerminal.write(self.screen.promptRow(self.editor))
            let text = line.trimmed
            if text == "/quit" { return true }
            guard !text.isEmpty else { return false }
            do throws(SendError) {
                // Shown when its first event comes, which is at once.
                _ = try await self.client.send(text, to: self.peer.id)
            } catch {
                self.say(describe(error), self.style.red)
            }
        }
        return false
    }

    private mutating func show(_ event: ClientEvent) async throws {
        switch event {
        case .received(let message) where message.peer == self.peer.id:
            self.add(message)
            try await self.client.markRead(self.peer.id)
        case .received(let message):
            self.say("✉ \(self.name(message.peer)) wrote to you: whisper chat \(self.name(message.peer))", self.style.blue)
        case .changed(let message) where message.peer == self.peer.id:
            guard self.screen.contains(message.id) else { return self.add(message) }
            RawTerminal.write(self.screen.mark(message.id, mark(message.state ?? .queued, self.style), self.editor))
            self.explain(message)
        case .changed(let message): self.explain(message)
        case .newContact(let contact): self.names[contact.id] = TextWidth.harmless(contact.shownName)
        case .alarm(let alarm): self.say(describe(alarm) { self.name($0) }, self.style.red)
        case .connection(.online):
            self.prompt(isOnline: true)
            if self.saidAway { self.say("The server is back.", self.style.green) }
            self.saidAway = false
        case .connection(.away(let why, _)):
            self.prompt(isOnline: false)
            guard !self.saidAway else { return }
            self.saidAway = true
            self.say("The server is away (\(why)). What you write is kept and goes out later.", self.style.yellow)
        case .backup(let news):
            if let words = describe(news) { self.say(words, self.style.yellow) }
        case .connection, .caughtUp, .restored: break
        }
    }

    private mutating func explain(_ message: Message) {
        switch message.state {
        case .failed(let reason): self.say("Not sent to \(self.name(message.peer)): \(describe(reason)).", self.style.red)
        case .expired: self.say("\(self.name(message.peer)) did not come for a message in time.", self.style.red)
        default: break
        }
    }

    private mutating func add(_ message: Message) {
        let isOurs = message.state != nil
        // An id as name on each line would leave little room; the first line has it in full.
        let name = isOurs ? "you" : self.peer.name == nil ? "\("\(self.peer.id)".prefix(8))…" : self.name(self.peer.id)
        let time = clock(message.time)
        let line = ChatScreen.Line(
            id: isOurs ? message.id : nil, mark: message.state.map { mark($0, self.style) } ?? "",
            head: self.style.dim(time) + " " + (isOurs ? self.style.dim(name) : self.style.bold(name)) + "  ",
            headColumns: time.count + 1 + TextWidth.columns(name) + 2, text: shown(message.content))
        RawTerminal.write(self.screen.add(line, self.editor))
    }

    private mutating func say(_ text: String, _ paint: @escaping @Sendable (String) -> String) {
        RawTerminal.write(self.screen.add(ChatScreen.Line(text: text, paint: paint), self.editor))
    }

    private mutating func prompt(isOnline: Bool) {
        let sign = isOnline ? self.style.green("●") : self.style.yellow("○")
        RawTerminal.write(self.screen.set(prompt: sign + " ▸ ", columns: 4, self.editor))
    }

    private func name(_ id: WhisperID) -> String { self.names[id] ?? "\(id)" }
}

extension String {
    /// Without white space at both ends.
    var trimmed: String {
        var text = self[...]
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }
}
