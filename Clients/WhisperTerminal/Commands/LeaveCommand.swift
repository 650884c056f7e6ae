import ArgumentParser
import Contract
import Dispatch
import TerminalText
import WhisperClient

/// Erases the identity at its server.
struct LeaveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "leave", abstract: "Erase this identity at the server, for good.",
        discussion: """
            There is no way back: nobody logs in with the twelve words again. Messages on this device stay until you delete them, and other \
            people keep what you have sent them.
            """)

    @OptionGroup var options: ProfileOptions
    @Option(help: "The Whisper ID, instead of the question for its end.") var confirm: String?
    @Flag(help: "Remove messages that wait for others, too.") var withdraw = false

    func run() async throws {
        let erasure = try await self.options.talk { core in
            guard let id = try await core.identity()?.id else { throw Problem("There is no identity here.") }
            try self.ask(about: id)
            try await waitUntilOnline(core.events(), within: .seconds(30))
            return try await core.deleteAccount(id, withdraws: self.withdraw)
        }
        printLine("This identity is erased. The server calls it erasure \(harmlessLine(erasure)).")
        printLine("Messages and contacts on this device are still in \(harmlessLine(self.options.folder)).")
    }

    private func ask(about id: String) throws {
        if let confirm {
            guard confirm.uppercased() == id else {
                throw Problem("--confirm names another identity. Nothing was done.")
            }
            return
        }
        printLine("\(id) will be erased at the server, for good. Nobody can log in with its twelve words again.")
        print("Type the last four characters of the Whisper ID to go on: ", terminator: "")
        guard let line = readLine(), line.uppercased() == id.suffix(4) else {
            throw Problem("These are not its last four characters. Nothing was done.")
        }
    }
}

extension CoreClient {
    /// - Returns: the erasure's id.
    func deleteAccount(_ id: String, withdraws: Bool) async throws -> String {
        let members = try await self.answered("account_delete", until: .now() + .seconds(90)) { json in
            json.add("confirm", id)
            json.add("sentMail", withdraws ? "withdraw" : "keep")
        }
        return members.string("erasureId") ?? ""
    }
}
