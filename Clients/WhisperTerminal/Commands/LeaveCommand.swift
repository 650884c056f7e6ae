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
            There is no way back: nobody logs in with the twelve words again. Messages on this device stay unless you choose --wipe, and other \
            people keep what you have sent them.
            """)

    @OptionGroup var options: ProfileOptions
    @Option(help: "The Whisper ID, instead of the question for its end.") var confirm: String?
    @Flag(help: "Remove messages that wait for others, too.") var withdraw = false
    @Flag(help: "Delete messages, contacts and words on this device, too.") var wipe = false

    func run() async throws {
        let (erasure, isWiped) = try await self.options.talk { core in
            guard let id = try await core.identity()?.id else { throw Problem("There is no identity here.") }
            try self.ask(about: id)
            // Its answer was lost, or another device has erased it.
            try await waitUntilOnline(core.events(), within: .seconds(30)) { $0 == .refused(.erased) }
            return try await core.deleteAccount(id, withdraws: self.withdraw, wipes: self.wipe)
        }
        if let erasure {
            printLine("This identity is erased. The server calls it erasure \(harmlessLine(erasure)).")
        } else {
            printLine("This identity was erased for good before.")
        }
        guard !isWiped else { return printLine("Messages and contacts on this device are deleted.") }
        printLine("Messages and contacts on this device are still in \(harmlessLine(self.options.folder)).")
        if self.wipe { throw Problem("Not all of its files could be deleted. Delete the folder yourself.") }
    }

    private func ask(about id: String) throws {
        if let confirm {
            guard confirm.uppercased() == id else {
                throw Problem("--confirm names another identity. Nothing was done.")
            }
            return
        }
        printLine("\(id) will be erased at the server, for good. Nobody can log in with its twelve words again.")
        if self.wipe { printLine("All messages and contacts on this device will be deleted, too.") }
        print("Type the last four characters of the Whisper ID to go on: ", terminator: "")
        guard let line = readLine(), line.uppercased() == id.suffix(4) else {
            throw Problem("These are not its last four characters. Nothing was done.")
        }
    }
}

extension CoreClient {
    /// - Returns: the erasure's id, unless the identity was erased before, and whether the folder was wiped.
    func deleteAccount(_ id: String, withdraws: Bool, wipes: Bool) async throws -> (erasure: String?, isWiped: Bool) {
        let members = try await self.answered("account_delete", until: .now() + .seconds(90)) { json in
            json.add("confirm", id)
            json.add("sentMail", withdraws ? "withdraw" : "keep")
            if wipes { json.add("wipe", true) }
        }
        return (members.string("erasureId"), members.bool("isWiped") ?? false)
    }
}
