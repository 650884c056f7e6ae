import ArgumentParser
import Contract
import Foundation
import TerminalText

struct EraseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "erase", abstract: "Erase an identity or a guest for good; nobody can undo it.",
        discussion: """
            An identity's id and keys are never taken again, and the person is told nothing. The audit log names the erasure, not the person: leave \
            the id out of the reason.
            """)

    @OptionGroup var options: AdminOptions
    @Argument(help: "The Whisper ID, or the id of a guest (gst-…).") var id: String
    @Option(help: "The same id again.") var confirm: String
    @Option(help: "Why.") var reason: String
    @Flag(help: "Remove messages of the person that wait for others, too.") var withdraw = false
    @Flag(help: "Return when all services have erased their part, but the ledger's.") var wait = false

    private struct Body: Encodable {
        var whisperId, guestId: String?
        var confirm, sentMail, reason: String
    }

    private struct Answer: Decodable {
        var erasureId: String
        var decidedAt: Int64
    }

    func run() async throws {
        let id = "\(try principal(self.id))"
        let server = try self.options.server()
        let body = try await server.post(
            "admin/erasures",
            Body(
                whisperId: identity(id), guestId: guest(id), confirm: "\(try principal(self.confirm))",
                sentMail: self.withdraw ? "withdraw" : "keep", reason: self.reason))
        let answer = try JSONDecoder().decode(Answer.self, from: body)
        while self.wait {
            let entry = try JSONDecoder().decode(
                ErasureEntry.self, from: try await server.get("admin/erasures/\(answer.erasureId)"))
            if entry.waitingFor.allSatisfy({ $0 == "ledger" }) { break }
            try await Task.sleep(for: .seconds(2))
        }
        try self.options.show(body, as: Answer.self) { answer in
            [
                "Erasure \(answer.erasureId), decided \(time(answer.decidedAt)). `whisper-admin erasures` shows how far it is."
            ]
        }
    }
}

private struct ErasureEntry: Decodable {
    var erasureId, by: String
    var decidedAt: Int64
    var finishedAt: Int64?
    var waitingFor: [String]
}

struct ErasuresCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "erasures", abstract: "Erasures, newest first, without the ids of persons.")

    @OptionGroup var options: AdminOptions
    @OptionGroup var page: PageOptions

    private struct Answer: Decodable {
        var erasures: [ErasureEntry]
        var nextCursor: String?
    }

    func run() async throws {
        let body = try await self.options.server().get("admin/erasures", self.page.query)
        try self.options.show(body, as: Answer.self) { answer in
            let lines = answer.erasures.map { erasure in
                let state =
                    erasure.waitingFor.isEmpty ? "done" : "waits for \(erasure.waitingFor.joined(separator: ", "))"
                return "\(time(erasure.decidedAt))  \(erasure.erasureId)  by \(erasure.by)  \(state)"
            }
            return listed(lines, else: "Nobody was erased.") + PageOptions.more(answer.nextCursor)
        }
    }
}
