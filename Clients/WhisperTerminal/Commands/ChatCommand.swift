import ArgumentParser
import Contract
import TerminalText
import WhisperClient

struct ChatCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "chat", abstract: "Talk to somebody, or to a group, live.",
        discussion: """
            Marks: ◌ queued here, … on its way, ✓ at the server, ✓✓ on their device, ◉ read, ✗ not sent, ∅ expired.
            A line that begins with / is an order, which never leaves this machine: /help lists them. // stands for a / that is text.
            Works offline: what you write is kept and goes out when the server is back.
            Without a terminal it reads messages line by line and prints what happens line by line.
            """)

    @OptionGroup var options: ProfileOptions
    @Option(help: "Without a terminal: seconds to wait for answers after the input ends.") var linger = 2
    @Argument(help: "A contact's name or Whisper ID, or the title or id of a group.") var chat: String

    func run() async throws {
        let reason = try await self.options.talk { core -> StopReason? in
            let partner = try await findChat(self.chat, core)
            if let terminal = RawTerminal() {
                defer { terminal.restore() }
                return try await LiveChat(core: core, partner: partner).run()
            }
            return try await LineChat(core: core, partner: partner, linger: .seconds(self.linger)).run()
        }
        if let reason, reason != .closed { throw Problem(describe(reason)) }
    }
}
