import Contract
import Dispatch
import Glibc
import TerminalText
import WhisperClient

/// A chat on a real terminal: the prompt stays on the last row, everything else appears above it.
actor LiveChat {
    private let core: CoreClient
    private let partner: ChatPartner

    /// Reads of the keyboard that are not handled. The terminal keeps the rest.
    private static let readsWaitingMax = 64
    /// Messages shown at the start.
    private static let messagesShown = 30
    /// Older unread ones shown before them. The inbox has the rest.
    private static let unreadShownMax = 400

    private let control: ChatControl
    private var words: ChatWords

    private let style = Style.output
    private var screen: ChatScreen
    private var editor = LineEditor()
    private var keys = KeyReader()
    /// Messages shown at the start: an event may come for them too.
    private var seen: Set<UUIDText> = []
    /// The date of the message that was drawn last.
    private var lastDay: String?
    /// The server was said to be away, and has not been said to be back.
    private var saidAway = false

    init(core: CoreClient, partner: ChatPartner) async throws {
        self.core = core
        self.partner = partner
        self.control = ChatControl(core: core, partner: partner)
        self.words = try await ChatWords(core: core, partner: partner)
        let size = RawTerminal.size
        self.screen = ChatScreen(width: size.width, height: size.height)
    }

    /// - Returns: why the core has disconnected for good; `nil` when the person left.
    /// - Throws: a `Problem` if the daemon has gone.
    func run() async throws -> StopReason? {
        let keyboard = ReadAhead(label: "standard-input", waitingMax: Self.readsWaitingMax, read: readKeys)
        let (resizes, resized) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        signal(SIGWINCH, SIG_IGN)
        let signals = DispatchSource.makeSignalSource(signal: SIGWINCH)
        signals.setEventHandler { resized.yield() }
        signals.resume()
        defer { signals.cancel() }

        let events = self.core.events()
        try await self.open()
        defer { RawTerminal.write("\r\u{1B}[K") }
        return try await withThrowingTaskGroup(of: StopReason?.self) { group in
            group.addTask {
                try await self.read(keyboard)
                return nil
            }
            group.addTask { try await self.show(events) }
            group.addTask {
                for await _ in resizes { await self.redraw() }
                return nil
            }
            defer { group.cancelAll() }
            return try await group.next() ?? nil
        }
    }

    /// Returns when the person leaves.
    private func read(_ keyboard: ReadAhead<[UInt8]>) async throws {
        for await bytes in keyboard {
            for key in self.keys.read(bytes) {
                if try await self.press(key) { return }
            }
        }
    }

    private func show(_ events: AsyncStream<ClientEvent>) async throws -> StopReason? {
        for await event in events {
            if case .connection(.stopped(let reason)) = event { return reason }
            try await self.show(event)
        }
        throw CoreClient.gone
    }

    private func redraw() {
        let size = RawTerminal.size
        RawTerminal.write(self.screen.resize(width: size.width, height: size.height, self.editor))
    }

    private func open() async throws {
        self.prompt(isOnline: false)
        let who =
            switch self.partner {
            case .person(let peer): peer.name.map { "\(harmlessLine($0)) · \(peer.id)" } ?? "\(peer.id)"
            case .group: "the group \(self.partner.spokenName)"
            }
        self.say("Chat with \(who) · Enter sends, Ctrl-D leaves, /help shows the orders", self.style.dim)
        let (latest, notes, keepers) = try await self.core.history(of: self.partner.place, limit: Self.messagesShown)
        let unread = try await self.core.unread(in: self.partner.place, limit: Self.unreadShownMax).messages
        let ids = Set(latest.map(\.message.id))
        let shown = unread.filter { !ids.contains($0.message.id) } + latest
        var notesLeft = notes[...]
        for (number, message) in shown {
            while let note = notesLeft.first, note.place < number { self.say(notesLeft.removeFirst()) }
            await self.add(message)
        }
        for note in notesLeft { self.say(note) }
        self.warn(of: keepers)
        if let notice = self.words.strangerNotice { self.say(notice, self.style.yellow) }
        if let notice = try await self.core.outboxNotice() { self.say(notice, self.style.yellow) }
        self.seen = Set(shown.map(\.message.id))
        try await self.core.markRead(unread)
        let last = unread.last?.number ?? 0
        for (number, message) in latest where number > last && message.direction == .incoming(isRead: false) {
            try await self.core.markRead(message)
        }
    }

    /// - Returns: whether the person wants to leave.
    private func press(_ key: Key) async throws -> Bool {
        if key == .redraw {
            self.redraw()
            return false
        }
        switch self.editor.handle(key) {
        case .edited: RawTerminal.write(self.screen.promptRow(self.editor))
        case .leave: return true
        case .entered(let line):
            RawTerminal.write(self.screen.promptRow(self.editor))
            switch try await self.control.perform(ChatOrder(line.trimmed)) {
            case .said(let remarks): self.say(remarks)
            case .found(let messages):
                for message in messages { self.say(self.words.line(message, self.style), self.style.dim) }
            case .left(let remarks):
                self.say(remarks)
                return true
            }
        }
        return false
    }

    private func show(_ event: ClientEvent) async throws {
        switch event {
        case .received(let message) where self.words.isHere(message):
            guard !self.seen.contains(message.id) else { return }
            await self.add(message)
            try await self.core.markRead(message)
        case .received(let message):
            if let line = try await self.words.elsewhere(message) { self.say(line, self.style.blue) }
        case .changed(let message):
            if message.state == nil, let remarks = await self.control.saved(message) { self.say(remarks) }
            if self.words.isHere(message) { await self.change(message) }
            self.explain(message)
        case .passing(.timer(self.partner.place, let person, let seconds)):
            self.say(self.words.timer(by: person, seconds: seconds), self.style.dim)
        case .passing(.chat(let state)) where state.place == self.partner.place: self.warn(of: state.keepers)
        case .passing(.expired(self.partner.place, let messages)): self.forget(Set(messages.map { MessageKey($0) }))
        case .contact(let contact), .request(let contact): self.words.met(contact)
        case .alarm(let alarm): self.say(describe(alarm) { self.name($0) }, self.style.red)
        case .connection(.online):
            self.prompt(isOnline: true)
            if self.saidAway { self.say("The server is back.", self.style.green) }
            self.saidAway = false
        case .connection(.away(let why, _)):
            self.prompt(isOnline: false)
            guard !self.saidAway else { return }
            self.saidAway = true
            self.say("Can't reach the server (\(why)). What you write is kept and goes out later.", self.style.yellow)
        case .backup(let news):
            if let words = describe(news) { self.say(words, self.style.yellow) }
        case .connection, .caughtUp, .group, .restored, .live, .room, .passing: break
        }
    }

    /// A message of this chat is another one now: where it stands on the screen, it is drawn anew.
    private func change(_ message: Message) async {
        let key = MessageKey(message)
        guard self.screen.contains(key) else {
            // One of ours that is new, or one from before what is shown.
            if message.state != nil { return await self.add(message) }
            for line in self.words.changes(to: message).lines { self.say(line, self.style.blue) }
            return
        }
        let (lines, hasMoved) = self.words.changes(to: message)
        if hasMoved {
            RawTerminal.write(self.screen.mark(key, mark(message.state ?? .queued, self.style), self.editor))
        }
        let (bytes, isSeen) = self.screen.change(key, to: self.words.shown(message), self.editor)
        RawTerminal.write(bytes)
        guard !isSeen else { return }
        for line in lines { self.say(line, self.style.blue) }
    }

    /// Messages have disappeared. They leave the screen, and so does their text where it is quoted.
    private func forget(_ keys: Set<MessageKey>) {
        self.words.forget(keys)
        let (bytes, _) = self.screen.change(self.editor) { [words] line in
            guard let key = line.key else { return line.text }
            return keys.contains(key) ? nil : words.shown(key) ?? line.text
        }
        RawTerminal.write(bytes)
    }

    private func explain(_ message: Message) {
        switch message.state {
        case .failed(.cancelled): break
        case .failed(let reason):
            let isHere = self.words.isHere(message)
            let name = isHere ? self.partner.spokenName : message.groupID ?? self.name(message.peer)
            let again = isHere ? "/retry" : "whisper retry \(name)"
            self.say("Not sent to \(name): \(describe(reason)). Again: \(again)", self.style.red)
        case .expired:
            let name = self.words.isHere(message) ? self.partner.spokenName : message.groupID ?? self.name(message.peer)
            self.say("\(name) did not come for a message in time.", self.style.red)
        default: break
        }
    }

    private func add(_ message: Message) async {
        await self.control.saw(message)
        self.words.saw(message)
        let isOurs = message.state != nil
        // An id as name on each line would leave little room; the first line has it in full.
        let name = isOurs ? "you" : self.words.shortName(message.peer)
        let (time, date) = (timeOfDay(message.time), day(message.time))
        if date != self.lastDay { self.say("── \(date) ──", self.style.dim) }
        self.lastDay = date
        let line = ChatScreen.Line(
            key: MessageKey(message),
            mark: self.words.isRequest(message)
                ? self.style.yellow("?") : message.state.map { mark($0, self.style) } ?? "",
            head: self.style.dim(time) + " " + (isOurs ? self.style.dim(name) : self.style.bold(name)) + "  ",
            headColumns: time.count + 1 + TextWidth.columns(name) + 2, text: self.words.shown(message))
        RawTerminal.write(self.screen.add(line, self.editor))
    }

    private func say(_ text: String, _ paint: @escaping @Sendable (String) -> String) {
        RawTerminal.write(self.screen.add(ChatScreen.Line(text: text, paint: paint), self.editor))
    }

    private func say(_ note: ChatNote) {
        self.say(self.words.text(of: note), self.style.dim)
    }

    private func warn(of keepers: [WhisperID]) {
        if let line = self.words.warning(of: keepers) { self.say(line, self.style.yellow) }
    }

    private func say(_ remarks: [ChatControl.Remark]) {
        for remark in remarks {
            switch remark.tone {
            case .plain: self.say(remark.text, self.style.dim)
            case .good: self.say(remark.text, self.style.green)
            case .bad: self.say(remark.text, self.style.red)
            }
        }
    }

    private func prompt(isOnline: Bool) {
        let sign = isOnline ? self.style.green("●") : self.style.yellow("○")
        RawTerminal.write(self.screen.set(prompt: sign + " ▸ ", columns: 4, self.editor))
    }

    private func name(_ id: WhisperID) -> String { self.words.name(id) }
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
