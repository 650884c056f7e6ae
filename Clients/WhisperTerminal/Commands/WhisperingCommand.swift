import ArgumentParser
import Contract
import TerminalText
import WhisperClient

extension Admission: ExpressibleByArgument {}

struct WhisperingCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "whisper", abstract: "Let people read what you type, key by key.",
        discussion: """
            Shows a link; whoever opens it asks to listen. A conversation of this name is made the first time and taken up later.
            On a terminal, Ctrl-Y lets in who asks, Ctrl-X declines, and Ctrl-O takes orders, which nobody else sees.
            Without a terminal each line of input is said. Everywhere lines that begin with / are orders: \(WhisperOrder.list). \
            // stands for a / that is text. The end of the input ends the stream, and so does Ctrl-C.
            """,
        aliases: ["live"])

    @OptionGroup var options: ProfileOptions
    @Option(help: "What listeners see it called. Default: NAME.") var title: String?
    @Option(name: .customLong("as"), help: "What listeners see you called. Default: your Whisper ID.")
    var whisperer: String?
    @Option(help: "Who is let in without asking you: nobody (knock), with the passcode, or with the link.")
    var admission: Admission?
    @Option(help: "Lets in whoever knows it.") var passcode: String?
    @Option(help: "Days for which the server keeps the completed lines, which only listeners can read. 0: not at all.")
    var keep = 0
    @Flag(help: "Draw the link as a QR code, too.") var qr = false
    @Argument(help: "The conversation, as you call it. Default: the one that all your devices have.") var name: String?

    func validate() throws {
        for text in [self.name, self.title, self.whisperer, self.passcode].compactMap({ $0 }) where !isName(text) {
            throw ValidationError("Names, titles and passcodes have 1 to 64 characters, and none that controls.")
        }
        let wishes: [Any?] = [self.title, self.whisperer, self.admission, self.passcode]
        if self.name == nil, wishes.contains(where: { $0 != nil }) || self.keep != 0 {
            throw ValidationError("Which NAME? `whisper conversation update` changes the default conversation.")
        }
        guard LiveLimits.transcriptDays.contains(Int64(self.keep)) else {
            throw ValidationError("Lines are kept for \(LiveLimits.transcriptDays.upperBound) days at most.")
        }
        if self.admission == .passcode, self.passcode == nil {
            throw ValidationError("Which --passcode?")
        }
        if let admission = self.admission, admission != .passcode, self.passcode != nil {
            throw ValidationError("A passcode lets people in with --admission passcode only.")
        }
    }

    func run() async throws {
        let reason = try await self.options.talk { core -> StopReason? in
            do {
                let conversation = try await self.conversation(core)
                if let terminal = RawTerminal() {
                    defer { terminal.restore() }
                    return try await KeyWhisper(core: core, conversation: conversation, drawsLink: self.qr).run()
                }
                return try await LineWhisper(core: core, conversation: conversation, drawsLink: self.qr).run()
            } catch let refusal as CoreClient.Refusal {
                throw Problem(describe(whispering: refusal))
            }
        }
        if let reason, reason != .closed { throw Problem(describe(reason)) }
    }

    private func conversation(_ core: CoreClient) async throws -> ListedConversation {
        guard let name else { return try await core.defaultConversation() }
        if let known = try await core.conversation(named: name) {
            let asked: [(String, Bool)] = [
                ("title", self.title.map { $0 == known.title } ?? true),
                ("whisperer's name", self.whisperer.map { $0 == known.whisperer } ?? true),
                ("admission", self.admission.map { $0.rawValue == known.admission } ?? true),
                ("passcode", self.passcode.map { $0 == known.passcode } ?? true),
            ]
            if let other = asked.first(where: { !$0.1 }) {
                throw Problem("\"\(name)\" was made with another \(other.0). Choose another NAME.")
            }
            return known
        }
        guard let own = try await core.identity(), own.isKnown else {
            throw Problem("This identity was never online. Try `whisper id`.")
        }
        return try await core.create(
            ConversationWish(
                name: name, title: self.title ?? name, whisperer: self.whisperer ?? own.id,
                admission: self.admission ?? (self.passcode == nil ? .knock : .passcode), passcode: self.passcode,
                transcriptDays: self.keep))
    }
}
