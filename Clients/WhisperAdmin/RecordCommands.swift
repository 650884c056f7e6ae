import ArgumentParser
import Contract
import Foundation
import TerminalText

struct ExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Print what the server holds about one identity or guest, as JSON.",
        discussion: "The person is told nothing. The audit log names the id and the reason.")

    @OptionGroup var options: AdminOptions
    @Argument(help: "The Whisper ID, or the id of a guest (gst-…).") var id: String
    @Option(help: "Why.") var reason: String
    @Option(help: ArgumentHelp("A new file, for you alone to read, in place of the terminal.", valueName: "file"))
    var output: String?

    private struct Body: Encodable {
        var whisperId, guestId: String?
        var reason: String
    }

    func run() async throws {
        let id = "\(try principal(self.id))"
        let server = try self.options.server()
        // Made before, because the audit log names each export.
        let file = try self.output.map { try PrivateFile(at: $0) }
        let document = try await server.post(
            "admin/exports", Body(whisperId: identity(id), guestId: guest(id), reason: self.reason), isLong: true)
        guard let file else { return self.options.show(json: document) }
        try file.write(document)
    }
}

struct RetentionCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retention", abstract: "What the server keeps, and how long.")

    @OptionGroup var options: AdminOptions

    private struct Answer: Decodable {
        struct Record: Decodable {
            var name, about, until: String
            var seconds, usualSeconds: Int64?
            var setting: String?
        }
        var records: [Record]
    }

    func run() async throws {
        let body = try await self.options.server().get("admin/retention")
        try self.options.show(body, as: Answer.self) { answer in
            answer.records.map { record in
                let time = (record.seconds ?? record.usualSeconds).map { "\(Self.span($0)) " } ?? ""
                // Another service has the setting, and auth is not told.
                let usual = record.seconds == nil && record.usualSeconds != nil ? ", unless set otherwise" : ""
                let setting = record.setting.map { " (\($0)\(usual))" } ?? ""
                return aligned(record.name, "\(time)\(record.until)\(setting). \(record.about)")
            }
        }
    }

    private static func span(_ seconds: Int64) -> String {
        if seconds >= 4 * 86_400 { return "\(seconds / 86_400) days" }
        return seconds >= 7_200 ? "\(seconds / 3_600) h" : "\(seconds) s"
    }
}
