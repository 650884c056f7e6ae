import ArgumentParser
import Foundation
import TerminalText

/// Which cluster, and with whose token.
struct AdminOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The internal ops origin.", discussion: "Default: $WHISPER_OPS_URL, else http://127.0.0.1:8081."))
    var url: String?

    @Option(help: ArgumentHelp("A file that holds the token.", valueName: "file"))
    var tokenFile: String?

    @Flag(help: "Print the answer as it came; on a terminal with \\u for what a terminal would obey.")
    var json = false

    func server() throws -> AdminServer {
        let environment = ProcessInfo.processInfo.environment.filter { !$0.value.isEmpty }
        let text = self.url ?? environment["WHISPER_OPS_URL"] ?? "http://127.0.0.1:8081"
        guard let url = URL(string: text), ["http", "https"].contains(url.scheme), url.host != nil else {
            throw ValidationError("\(text) is not an address such as http://127.0.0.1:8081.")
        }
        if let file = self.tokenFile {
            guard let content = try? String(contentsOfFile: file, encoding: .utf8) else {
                throw ValidationError("The token file \(file) cannot be read.")
            }
            return AdminServer(url: url, token: content.trimmingCharacters(in: .whitespacesAndNewlines))
        }
        guard let token = environment["ADMIN_TOKEN"] ?? environment["VIEWER_TOKEN"] else {
            throw ValidationError("No token: set ADMIN_TOKEN or VIEWER_TOKEN, or use --token-file.")
        }
        return AdminServer(url: url, token: token)
    }

    /// Prints the answer to a change: as it came, or a sentence.
    func show(_ body: Data, _ sentence: String) {
        print(self.json ? Self.harmless(body) : harmlessLine(sentence))
    }

    /// Prints an answer as it came.
    func show(json body: Data) { print(Self.harmless(body)) }

    private static func harmless(_ body: Data) -> String {
        let text = String(decoding: body, as: UTF8.self)
        return isatty(STDOUT_FILENO) == 1 ? harmlessJSON(text) : text
    }

    /// Prints an answer: as it came, or as `show` has it.
    func show<Answer: Decodable>(_ body: Data, as: Answer.Type, _ show: (Answer) -> [String]) throws {
        guard !self.json else { return print(Self.harmless(body)) }
        guard let answer = try? JSONDecoder().decode(Answer.self, from: body) else {
            throw NoAnswer("The server's answer is not understood: is it of another release?")
        }
        for line in show(answer) { print(harmlessLine(line)) }
    }
}

/// One part of a list.
struct PageOptions: ParsableArguments {
    @Option(help: "Where the page before ended.")
    var cursor: String?

    @Option(help: "Entries at most.")
    var limit: Int?

    var query: [String: String] {
        var query: [String: String] = [:]
        query["cursor"] = self.cursor
        query["limit"] = self.limit.map { String($0) }
        return query
    }

    static func more(_ cursor: String?) -> [String] { cursor.map { ["there is more: --cursor \($0)"] } ?? [] }
}
