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
    @OptionGroup var term: BanTerm

    private struct Body: Encodable {
        var decision: String
        var note: String?
        var expiresAt: Int64?
    }

    private var isBan: Bool { self.decision == AdminOperations.Decision.ban.rawValue }

    func validate() throws {
        guard self.isBan || !self.term.isGiven else {
            throw ValidationError("--for and --permanently belong to the decision ban.")
        }
    }

    func run() async throws {
        guard let id = UUIDText(self.id) else { throw ValidationError("\(self.id) is not a report id.") }
        let end = self.isBan ? self.term.end(from: Date()) : nil
        let body = try await self.options.server().post(
            "admin/reports/\(id)/review", Body(decision: self.decision, note: self.note, expiresAt: end))
        self.options.show(body, self.isBan ? "Banned \(BanTerm.words(end))." : "Done.")
    }
}

struct BanCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ban", abstract: "Ban an identity or a guest; its connection ends within a second.")

    @OptionGroup var options: AdminOptions
    @Argument(help: "The Whisper ID, or the id of a guest (gst-…).") var id: String
    @Option(help: "Why.") var reason: String
    @OptionGroup var term: BanTerm

    private struct Body: Encodable {
        var whisperId, guestId: String?
        var reason: String
        var expiresAt: Int64?
    }

    func run() async throws {
        let end = self.term.end(from: Date())
        let body = try await self.options.server().post(
            "admin/ban",
            Body(whisperId: identity(self.id), guestId: guest(self.id), reason: self.reason, expiresAt: end))
        self.options.show(body, "\(self.id) is banned \(BanTerm.words(end)).")
    }
}

/// How long a ban holds: a day, as in the console, unless the operator says otherwise.
struct BanTerm: ParsableArguments {
    struct Length: Equatable, ExpressibleByArgument {
        static let day = Length(seconds: 86_400)

        var seconds: Int64

        private init(seconds: Int64) { self.seconds = seconds }

        init?(argument: String) {
            let units: [Character: Int64] = ["m": 60, "h": 3_600, "d": 86_400]
            guard let unit = argument.last.flatMap({ units[$0] }), argument.utf8.count < 8,
                let count = UInt32(argument.dropLast()), count > 0
            else { return nil }
            self.seconds = Int64(count) * unit
        }
    }

    @Option(
        name: .customLong("for"),
        help: ArgumentHelp("How long the ban holds, such as 30m, 12h or 7d; 1d if not given.", valueName: "duration"))
    var length: Length?
    @Flag(help: "The ban holds until an operator ends it.") var permanently = false

    var isGiven: Bool { self.permanently || self.length != nil }

    func validate() throws {
        if self.permanently, self.length != nil { throw ValidationError("--for and --permanently exclude each other.") }
    }

    /// - Returns: milliseconds since 1970; nil for a permanent ban.
    func end(from now: Date) -> Int64? {
        guard !self.permanently else { return nil }
        return Int64(now.timeIntervalSince1970 * 1_000) + (self.length ?? .day).seconds * 1_000
    }

    static func words(_ end: Int64?) -> String { end.map { "until \(time($0))" } ?? "permanently" }
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
