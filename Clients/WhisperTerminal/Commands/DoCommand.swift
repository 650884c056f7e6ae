import ArgumentParser
import Dispatch
import Glibc
import TerminalText
import WhisperClient
import WhisperCore

/// Any verb of the core, for scripts.
struct DoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "do", abstract: "Do one verb of docs/core.md, and print its result as JSON.",
        discussion: """
            A daemon that serves the profile does it. Without one it is done here, and what the server is to have connects.
            A refusal is printed as JSON to standard error. Ends with 0 when the verb was done, with 64 if there is no
            such verb or parameter, with 69 if the server cannot be reached, with 75 if what was written waits here for the server,
            with 77 if the profile is in use or sealed with another key, and with 65 if the verb was refused otherwise.
            """)

    @OptionGroup var options: ProfileOptions
    @Option(help: "Seconds to wait for the server.") var wait = 20
    @Option(help: "File with the key of a sealed store, of mode 0600. A daemon has it already.") var keyFile: String?
    @Argument(help: "The verb, for example chat_list.") var verb: String
    @Argument(help: "Its parameters: one JSON object, or - to read it from standard input. Other users see arguments.")
    var parameters = "{}"

    private func readParameters() -> [UInt8] {
        guard self.parameters == "-" else { return Array(self.parameters.utf8) }
        var lines: [String] = []
        while let line = readLine(strippingNewline: false) { lines.append(line) }
        return Array(lines.joined().utf8)
    }

    func run() async throws {
        let parameters = self.readParameters()
        let deadline = DispatchTime.now() + .seconds(self.wait)
        do {
            let key = try self.keyFile.map { try KeyFile.read($0) }
            let (result, waits) = try await self.options.reach(key: key) { core in
                try await core.perform(self.verb, parameters, until: deadline)
            }
            let text = String(decoding: result, as: UTF8.self)
            print(isatty(STDOUT_FILENO) == 1 ? harmlessJSON(text) : text)
            if waits { throw ExitCode(75) }
        } catch let refusal as CoreClient.Refusal {
            throw Self.end(refusal)
        } catch let error as CoreError {
            throw Self.end(
                CoreClient.Refusal(
                    code: error.code.rawValue, message: self.options.problem(error).description, field: error.field))
        } catch let error as ProfileError {
            let message = self.options.problem(error).description
            switch error {
            case .inUse: throw Self.end(CoreClient.Refusal(code: CoreError.Code.locked.rawValue, message: message))
            case .wrongKey:
                throw Self.end(CoreClient.Refusal(code: CoreError.Code.wrongKey.rawValue, message: message))
            default: throw self.options.problem(error)
            }
        }
    }

    // MARK: Ends

    private static let usage: Set<CoreError.Code> = [.unknownVerb, .invalidField, .invalidCommand, .tooLong]
    private static let away: Set<CoreError.Code> = [.offline, .unreachable, .server]
    private static let shut: Set<CoreError.Code> = [.locked, .wrongKey]

    private static func end(_ refusal: CoreClient.Refusal) -> ExitCode {
        let text = String(decoding: refusal.json, as: UTF8.self)
        let shown = isatty(STDERR_FILENO) == 1 ? harmlessJSON(text) : text
        DaemonSession.write(Array(shown.utf8) + [0x0A], to: STDERR_FILENO)
        return ExitCode(Self.status(of: refusal.code))
    }

    /// As sysexits.h has it.
    static func status(of code: String) -> Int32 {
        guard let code = CoreError.Code(rawValue: code) else { return 65 }
        return if Self.usage.contains(code) {
            64
        } else if Self.away.contains(code) {
            69
        } else if Self.shut.contains(code) {
            77
        } else {
            65
        }
    }
}
