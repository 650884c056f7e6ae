import ArgumentParser
import Contract
import Glibc
import TerminalText
import WhisperClient
import WhisperCore

struct ListenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "listen", abstract: "Read what somebody types, key by key.",
        discussion: """
            Shows whose conversation the link names, asks for your name, and knocks. Without a terminal it needs --name, and shows \
            completed lines only. Ctrl-C leaves.
            """)

    @OptionGroup var options: ProfileOptions
    @Option(help: "What the whisperer sees you called. Asked for on a terminal.") var name: String?
    @Option(help: "The passcode, if the whisperer wants one.") var passcode: String?
    @Option(help: "A word for the whisperer, up to 200 characters.") var note: String?
    @Flag(help: "Leave when the stream ends.") var once = false
    @Argument(help: "The link, or the title of a conversation that you have listened to.") var link: String

    func validate() throws {
        for text in [self.name, self.passcode].compactMap({ $0 }) where !isName(text) {
            throw ValidationError("Names and passcodes have 1 to 64 characters, and none that controls.")
        }
        if let note = self.note, !LiveLimits.noteScalars.contains(note.unicodeScalars.count) {
            throw ValidationError("A note has at most \(LiveLimits.noteScalars.upperBound) characters.")
        }
    }

    func run() async throws {
        // Nobody sees us online before the user has agreed.
        let end = try await self.options.talk(connects: false) { core in
            do {
                return try await self.listen(core)
            } catch let refusal as CoreClient.Refusal where CoreError.Code(rawValue: refusal.code) != .noIdentity {
                throw Problem(describe(listening: refusal))
            }
        }
        switch end {
        case .left, .stopped(.closed): return
        case .over(let why): throw Problem(why)
        case .stopped(let reason): throw Problem(describe(reason))
        }
    }

    private func listen(_ core: CoreClient) async throws -> LiveListening.End {
        let link = try await self.find(core)
        let look = try await core.look(at: link)
        let (name, passcode) = try self.consent(to: look)
        try await core.connectIfHere()
        try await waitUntilOnline(core.events(), within: .seconds(20))
        let wish = ListenWish(link: link, name: name, passcode: passcode, note: self.note)
        return try await LiveListening(
            core: core, wish: wish, whisperer: look.whisperer, leavesAtEnd: self.once
        ).run()
    }

    private func find(_ core: CoreClient) async throws -> ListenLink {
        if let link = ListenLink(self.link) { return link }
        let known = try await core.heard().first { $0.title.lowercased() == self.link.lowercased() }
        guard let known else {
            throw Problem("That is no link to listen with. One looks like https://chat.example/listen/…#…")
        }
        return known.link
    }

    /// Nobody is told anything before the user has given a name.
    private func consent(to look: ListedLook) throws -> (name: String, passcode: String?) {
        let isPerson = isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1
        printLine(
            "\(harmlessLine(look.title)), whispered by \(harmlessLine(look.whisperer)). "
                + (look.isTranscribed ? "Lines are kept." : "Lines are not kept."))
        var name = self.name
        if name == nil, isPerson, let answer = Self.ask("Your name, as the whisperer will see it (empty: leave): ") {
            guard case .text(let typed) = SlashLine(answer) else {
                throw Problem(
                    "What begins with / looks like an order, so nobody was told. // stands for a / in a name.")
            }
            name = typed
        }
        guard let name, isName(name) else { throw Problem("Without a name nobody is asked. --name gives one.") }
        var passcode = self.passcode
        if passcode == nil, look.admission == .passcode, isPerson { passcode = Self.ask("Passcode: ") }
        return (name, passcode)
    }

    private static func ask(_ question: String) -> String? {
        print(question, terminator: "")
        fflush(nil)
        guard let answer = readLine()?.trimmed, !answer.isEmpty else { return nil }
        return answer
    }
}
