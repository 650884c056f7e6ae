import ArgumentParser
import Foundation
import TerminalText

struct CollectCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "collect-attachments", abstract: "Remove attachments that nobody needs any more, now.")

    @OptionGroup var options: AdminOptions

    private struct Answer: Decodable {
        var examined, deleted, bytesFreed: Int64
    }

    func run() async throws {
        let body = try await self.options.server().post("admin/attachments/gc/run", [String: String](), isLong: true)
        try self.options.show(body, as: Answer.self) {
            ["\($0.examined) examined, \($0.deleted) deleted, \($0.bytesFreed) bytes freed"]
        }
    }
}

struct AuditAttachmentsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit-attachments", abstract: "Compare the object store with the table of attachments.",
        discussion:
            "Leaked objects are those that no row knows; dangling rows are those whose file is not in the store.")

    @OptionGroup var options: AdminOptions
    @Flag(help: "Remove what was found.") var fix = false

    private struct Answer: Decodable {
        var objects, rows, leaked, leakedBytes, dangling, fixed: Int64
        var leakedKeys, danglingKeys: [String]
    }

    func run() async throws {
        let body = try await self.options.server().post("admin/attachments/audit", ["fix": self.fix], isLong: true)
        try self.options.show(body, as: Answer.self) { answer in
            [
                "\(answer.objects) objects, \(answer.rows) rows of uploaded files",
                "\(answer.leaked) leaked, \(answer.leakedBytes) bytes; \(answer.dangling) dangling; \(answer.fixed) fixed",
            ] + answer.leakedKeys.map { "leaked    \(harmlessLine($0))" }
                + answer.danglingKeys.map { "dangling  \(harmlessLine($0))" }
        }
    }
}
