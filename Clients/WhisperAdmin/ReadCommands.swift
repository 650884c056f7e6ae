import ArgumentParser
import Contract
import Foundation
import TerminalText

struct StatsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "stats", abstract: "The cluster in numbers.")

    @OptionGroup var options: AdminOptions

    private struct Answer: Decodable {
        struct Attachments: Decodable { var count, bytes: Int64 }
        var users, devices, sessions, online, pendingMessages, groups, reportsOpen, bansActive, guests, profiles: Int64
        var conversations, streams, listeners, rooms, transcriptLines: Int64
        var attachments: Attachments
        /// An older server does not tell.
        var devicesByClient: [String: Int64]?
    }

    func run() async throws {
        let body = try await self.options.server().get("admin/stats")
        try self.options.show(body, as: Answer.self) { answer in
            let clients = (answer.devicesByClient ?? [:]).filter { $0.value > 0 }.sorted { $0.key < $1.key }
            let devices =
                [("users", answer.users), ("devices", answer.devices)] + clients.map { ("- " + $0.key, $0.value) }
            let others = [
                ("sessions", answer.sessions), ("online", answer.online), ("pending messages", answer.pendingMessages),
                ("groups", answer.groups),
                ("attachments", answer.attachments.count), ("attachment bytes", answer.attachments.bytes),
                ("open reports", answer.reportsOpen), ("active bans", answer.bansActive),
                ("guests", answer.guests), ("profiles", answer.profiles),
                ("conversations", answer.conversations), ("streams", answer.streams),
                ("listeners", answer.listeners), ("rooms", answer.rooms),
                ("transcript lines", answer.transcriptLines),
            ]
            return (devices + others).map { aligned($0, "\($1)") }
        }
    }
}

struct IdentityCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "identity", abstract: "One identity in numbers, without any content.")

    @OptionGroup var options: AdminOptions
    @Argument(help: "The Whisper ID.") var id: String

    private struct Answer: Decodable {
        var whisperId: String
        var createdAt: Int64
        var seenOn, platform, rateClass: String?
        var isBanned: Bool
        var waitingMessages, groups, files, fileBytes: Int64
    }

    func run() async throws {
        guard let id = WhisperID(self.id.uppercased()) else { throw ValidationError("\(self.id) is not a Whisper ID.") }
        let body = try await self.options.server().get("admin/identities/\(id)")
        try self.options.show(body, as: Answer.self) { answer in
            [
                ("whisper id", answer.whisperId), ("registered", time(answer.createdAt)),
                ("last seen", answer.seenOn ?? "unknown"), ("device", answer.platform ?? "none"),
                ("banned", answer.isBanned ? "yes" : "no"), ("rate class", answer.rateClass ?? RateClassName.none),
                ("messages waiting", "\(answer.waitingMessages)"),
                ("groups", "\(answer.groups)"), ("files", "\(answer.files)"), ("file bytes", "\(answer.fileBytes)"),
            ].map { aligned($0, $1) }
        }
    }
}

struct ReportsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "reports", abstract: "Reports, newest first.")

    @OptionGroup var options: AdminOptions
    @OptionGroup var page: PageOptions
    @Option(
        help: "Only those that are \(AdminOperations.ReportStatus.allCases.map(\.rawValue).joined(separator: ", ")).")
    var status: String?

    private struct Answer: Decodable {
        var reports: [ReportLine]
        var nextCursor: String?
    }

    func run() async throws {
        var query = self.page.query
        query["status"] = self.status
        let body = try await self.options.server().get("admin/reports", query)
        try self.options.show(body, as: Answer.self) { answer in
            listed(answer.reports.map(\.text), else: "There are no such reports.") + PageOptions.more(answer.nextCursor)
        }
    }
}

/// One report in the list. The note is the reporter's own text.
struct ReportLine: Decodable {
    var id, targetId, reason, status: String
    /// `nil` once the reporter was erased.
    var reporterId: String?
    var note: String?
    var evidenceVerified: Bool
    var createdAt: Int64

    var text: String {
        let proof = self.evidenceVerified ? "with evidence" : "without evidence"
        let note = self.note.map { " “\(harmlessLine($0))”" } ?? ""
        let reporter = self.reporterId ?? "somebody who has left"
        return "\(time(self.createdAt))  \(self.id)  \(self.status)  \(self.targetId) by \(reporter): "
            + "\(self.reason), \(proof)\(note)"
    }
}

struct BansCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "bans", abstract: "Bans that hold now.")

    @OptionGroup var options: AdminOptions
    @OptionGroup var page: PageOptions

    private struct Answer: Decodable {
        struct Ban: Decodable {
            var whisperId, guestId: String?
            var reason: String
            var createdAt: Int64
            var expiresAt: Int64?
        }
        var bans: [Ban]
        var nextCursor: String?
    }

    func run() async throws {
        let body = try await self.options.server().get("admin/bans", self.page.query)
        try self.options.show(body, as: Answer.self) { answer in
            let lines = answer.bans.map { ban in
                "\(time(ban.createdAt))  \(ban.whisperId ?? ban.guestId ?? "")  \(BanTerm.words(ban.expiresAt))  \(harmlessLine(ban.reason))"
            }
            return listed(lines, else: "Nobody is banned.") + PageOptions.more(answer.nextCursor)
        }
    }
}

struct AuditCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit", abstract: "What operators asked and did, and what bans have done.")

    @OptionGroup var options: AdminOptions
    @OptionGroup var page: PageOptions
    @Option(help: "Only about this identity, report or message.")
    var target: String?

    private struct Answer: Decodable {
        struct Event: Decodable {
            var at: Int64
            var actor, action, result: String
            var target, note: String?
        }
        var events: [Event]
        var nextCursor: String?
    }

    func run() async throws {
        var query = self.page.query
        query["target"] = self.target
        let body = try await self.options.server().get("admin/audit", query)
        try self.options.show(body, as: Answer.self) { answer in
            let lines = answer.events.map { event in
                let target = event.target.map { " \($0)" } ?? ""
                let note = event.note.map { " “\(harmlessLine($0))”" } ?? ""
                return "\(time(event.at))  \(event.actor) \(event.action)\(target): \(event.result)\(note)"
            }
            return listed(lines, else: "There are no such events.") + PageOptions.more(answer.nextCursor)
        }
    }
}

struct MessageCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "message", abstract: "Where a message stands, without its content.")

    @OptionGroup var options: AdminOptions
    @Argument(help: "The message's id.") var id: String

    private struct Answer: Decodable {
        struct Delivery: Decodable {
            var from, to, status: String
            var groupId: String?
            var acceptedAt: Int64
            var deliveredAt, readAt, expiredAt: Int64?
            var push: Push?
        }
        struct Push: Decodable {
            var provider, result: String
            var at: Int64
            var wokeAt: Int64?
        }
        var deliveries: [Delivery]
    }

    func run() async throws {
        guard let id = UUIDText(self.id) else { throw ValidationError("\(self.id) is not a message id.") }
        let body = try await self.options.server().get("admin/messages/\(id)")
        try self.options.show(body, as: Answer.self) { answer in
            answer.deliveries.map { delivery in
                let times = [
                    ("delivered", delivery.deliveredAt), ("read", delivery.readAt), ("expired", delivery.expiredAt),
                ]
                .compactMap { name, at in at.map { ", \(name) \(time($0))" } }.joined()
                let group = delivery.groupId.map { " in \($0)" } ?? ""
                let push =
                    delivery.push.map { push in
                        "; push by \(push.provider) \(time(push.at)): \(push.result)"
                            + (push.wokeAt.map { ", woke \(time($0))" } ?? "")
                    } ?? ""
                return
                    "\(delivery.from) to \(delivery.to)\(group): \(delivery.status); accepted \(time(delivery.acceptedAt))\(times)\(push)"
            }
        }
    }
}

struct DeadLettersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dead-letters", abstract: "Failed pushes, newest first.")

    @OptionGroup var options: AdminOptions
    @OptionGroup var page: PageOptions

    private struct Answer: Decodable {
        struct Letter: Decodable {
            var at, tries: Int64
            var whisperId, wakeId, kind, provider, reason: String
        }
        var deadLetters: [Letter]
        var nextCursor: String?
    }

    func run() async throws {
        let body = try await self.options.server().get("admin/push/dead-letters", self.page.query)
        try self.options.show(body, as: Answer.self) { answer in
            let lines = answer.deadLetters.map {
                "\(time($0.at))  \($0.whisperId)  \($0.kind) \($0.wakeId) by \($0.provider): \(harmlessLine($0.reason)), \($0.tries) tries"
            }
            return listed(lines, else: "No push failed.") + PageOptions.more(answer.nextCursor)
        }
    }
}

/// Milliseconds since 1970 as people read them: UTC, to the second.
func time(_ milliseconds: Int64) -> String {
    Date(timeIntervalSince1970: Double(milliseconds / 1_000)).formatted(.iso8601)
}

/// One of several lines, each with a name and a value.
func aligned(_ name: String, _ value: String) -> String {
    name.padding(toLength: 18, withPad: " ", startingAt: 0) + value
}

/// The lines of a list; a sentence if there are none, so that nobody takes an empty list for a command that failed.
func listed(_ lines: [String], else sentence: String) -> [String] { lines.isEmpty ? [sentence] : lines }
