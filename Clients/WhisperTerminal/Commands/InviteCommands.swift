import ArgumentParser
import Contract
import TerminalText
import WhisperClient
import WhisperCore

/// Makes an invitation.
struct InviteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "invite", abstract: "Show a link with which one person may register at your server.",
        discussion: """
            The server decides how many you make in a day. The link is shown once; whoever has it may use it, and may revoke it with \
            `whisper uninvite`.
            """)

    @OptionGroup var options: ProfileOptions
    @Option(help: "For how many days.") var days: Int64 = 7
    @Option(help: "What the link calls you. Your Whisper ID stands in it anyway.") var name: String?
    @Flag(help: "A link that a browser opens.") var web = false
    @Flag(help: "Draw it as a QR code, too.") var qr = false

    func validate() throws {
        guard (1...90).contains(self.days) else { throw ValidationError("--days has to be 1 to 90.") }
    }

    func run() async throws {
        let link = try await self.options.talk { core in
            try await waitUntilOnline(core.events(), within: .seconds(30))
            do {
                return try await self.link(core)
            } catch let refusal as CoreClient.Refusal where refusal.code == CoreError.Code.forbidden.rawValue {
                throw Problem("This server lets people make no invitations now. Ask those who run it.")
            } catch let refusal as CoreClient.Refusal where refusal.code == CoreError.Code.tooMany.rawValue {
                throw Problem("You have made as many invitations as the server allows in a day.")
            }
        }
        print(link)
        if self.qr { for line in QRCode(link)?.lines(.output) ?? [] { print(line) } }
    }

    private func link(_ core: CoreClient) async throws -> String {
        let members = try await core.answered("invitation_create") { json in
            json.add("expiresInSeconds", self.days * 86_400)
            json.add("name", self.name)
            json.add("form", (self.web ? ContactLink.Form.web : .app).rawValue)
        }
        guard let text = members.string("text") else { throw CoreClient.strange }
        return text
    }
}

/// Ends an invitation.
struct UninviteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "uninvite", abstract: "Revoke an invitation; whoever has come in with it stays.")

    @OptionGroup var options: ProfileOptions
    @Argument(help: "Its link, as `whisper invite` has shown it, or the token behind the #.") var link: String

    func run() async throws {
        try await self.options.talk { core in
            try await waitUntilOnline(core.events(), within: .seconds(30))
            _ = try await core.answered("invitation_revoke") { $0.add("text", self.link) }
        }
        printLine("Nobody can register with this invitation any more.")
    }
}
