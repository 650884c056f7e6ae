import ArgumentParser
import Contract
import Foundation
import TerminalText

struct ReviewCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "review", abstract: "Decide a report.")

    @OptionGroup var options: AdminOptions
    @Argument(help: "The report's id.") var id: String
    @Argument(help: "\(AdminOperations.Decision.allCases.map(\.rawValue).joined(separator: ", ")).") var decision:
        String
    @Option(help: "Why; with ban, the ban's reason.") var note: String?

    private struct Body: Encodable {
        var decision: String
        var note: String?
    }

    func run() async throws {
        guard let id = UUIDText(self.id) else { throw ValidationError("\(self.id) is not a report id.") }
        let body = try await self.options.server().post(
            "admin/reports/\(id)/review", Body(decision: self.decision, note: self.note))
        self.options.show(body, "Done.")
    }
}

struct BanCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ban", abstract: "Ban an identity or a guest; its connection ends within a second.")

    @OptionGroup var options: AdminOptions
    @Argument(help: "The Whisper ID, or the id of a guest (gst-…).") var id: String
    @Option(help: "Why.") var reason: String
    @Option(help: "How many hours the ban holds; for ever if not given.") var hours: Double?

    private struct Body: Encodable {
        var whisperId, guestId: String?
        var reason: String
        var expiresAt: Int64?
    }

    func validate() throws {
        if let hours, !(hours > 0 && hours < 1_000_000) { throw ValidationError("--hours has to be above 0.") }
    }

    func run() async throws {
        let end = self.hours.map { Int64((Date().timeIntervalSince1970 + $0 * 3_600) * 1_000) }
        let body = try await self.options.server().post(
            "admin/ban",
            Body(whisperId: identity(self.id), guestId: guest(self.id), reason: self.reason, expiresAt: end))
        self.options.show(body, "\(self.id) is banned \(end.map { "until \(time($0))" } ?? "for ever").")
    }
}

struct UnbanCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "unban", abstract: "End a ban.")

    @OptionGroup var options: AdminOptions
    @Argument(help: "The Whisper ID, or the id of a guest (gst-…).") var id: String
    @Option(help: "Why.") var reason: String

    private struct Body: Encodable {
        var whisperId, guestId: String?
        var reason: String
    }

    func run() async throws {
        let body = try await self.options.server().post(
            "admin/unban", Body(whisperId: identity(self.id), guestId: guest(self.id), reason: self.reason))
        self.options.show(body, "Done: \(self.id) is not banned now.")
    }
}

/// - Throws: if it is the id of neither an identity nor a guest.
func principal(_ id: String) throws -> PrincipalID {
    guard let principal = PrincipalID(id) ?? PrincipalID(id.uppercased()) else {
        throw ValidationError("\(id) is no Whisper ID, and no id of a guest.")
    }
    return principal
}

/// - Returns: nil if it is the id of a guest.
func identity(_ id: String) -> String? { id.hasPrefix(GuestID.prefix) ? nil : id }

/// - Returns: nil if it is the id of an identity.
func guest(_ id: String) -> String? { id.hasPrefix(GuestID.prefix) ? id : nil }
