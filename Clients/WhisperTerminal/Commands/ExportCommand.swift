import ArgumentParser
import Contract
import FoundationEssentials
import TerminalText
import WhisperClient

/// Asks the server what it holds about the identity.
struct ExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Write to a file what the server holds about this identity.",
        discussion: """
            The file is JSON, for you alone to read. Messages are sealed and not in it: those that you can read are on your devices. The \
            server gives it \(Rates.accountExport.uses) times a day.
            """)

    @OptionGroup var options: ProfileOptions
    @Argument(help: "The file, which must not be there yet.") var file: String

    func run() async throws {
        let path = ChatFile.absolute(self.file, in: FileManager.default.currentDirectoryPath)
        let size = try await self.options.talk { core in
            try await waitUntilOnline(core.events(), within: .seconds(30))
            return try await core.export(to: path)
        }
        printLine("\(size) bytes are in \(harmlessLine(path)).")
    }
}

extension CoreClient {
    /// - Returns: the file's size in bytes.
    func export(to path: String) async throws -> Int64 {
        try await self.answered("account_export") { $0.add("to", path) }.integer("sizeBytes") ?? 0
    }
}
