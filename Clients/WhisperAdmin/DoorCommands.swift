import ArgumentParser
import Contract
import Foundation
import TerminalText

struct RegistrationCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "registration", abstract: "Show or choose whether somebody new may register.",
        discussion: "Whoever has an identity logs in, and restores it with the words, whatever is chosen.")

    @OptionGroup var options: AdminOptions
    @Argument(
        help:
            "\((RegistrationMode.allCases.map(\.rawValue) + [Self.usual]).joined(separator: ", ")); shows if not given."
    )
    var mode: String?
    @Option(help: "Why; needed for a choice but default.") var reason: String?

    private static let usual = "default"

    private struct Body: Encodable {
        var mode, reason: String
    }

    private struct Answer: Decodable {
        var mode: String
        var isDefault: Bool
        var changedAt: Int64?
    }

    func validate() throws {
        guard let mode, mode != Self.usual else { return }
        guard RegistrationMode(rawValue: mode) != nil else {
            throw ValidationError("There is no such choice: \(mode).")
        }
        guard self.reason != nil else { throw ValidationError("A choice needs a --reason.") }
    }

    func run() async throws {
        let server = try self.options.server()
        switch self.mode {
        case nil:
            let body = try await server.get("admin/registration")
            try self.options.show(body, as: Answer.self) { answer in
                [
                    answer.mode
                        + (answer.isDefault
                            ? ", as the setting says" : answer.changedAt.map { ", since \(time($0))" } ?? "")
                ]
            }
        case Self.usual:
            let body = try await server.delete("admin/registration")
            self.options.show(body, "Registration is as the setting says.")
        case let mode?:
            let body = try await server.post(
                "admin/registration", Body(mode: mode, reason: self.reason ?? ""), method: "PUT")
            self.options.show(body, "Registration is \(mode).")
        }
    }
}

struct InviteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "invite", abstract: "Make an invitation, for registration by invitation.",
        discussion: "The token is shown once: the server keeps a digest of it.")

    @OptionGroup var options: AdminOptions
    @Option(help: "How many people may come in with it.") var uses: Int64 = 1
    @Option(help: "For how many days.") var days: Int64 = 7
    @Option(help: "For operators: whom or what it is for.") var label: String?
    @Option(help: "Class of rates of those who come in with it.") var rateClass: String?
    @Option(help: "The server's address for people, as chat.example.org or chat.example.org:8443: prints links, too.")
    var host: String?
    @Flag(help: "Draw the link for a browser as a QR code, too; needs --host.") var qr = false

    private struct Body: Encodable {
        var uses, expiresInSeconds: Int64
        var label, rateClass: String?
    }

    private struct Answer: Decodable {
        var invitationId, token: String
        var expiresAt: Int64
    }

    func validate() throws {
        guard Limits.invitationUses.contains(self.uses) else { throw ValidationError("--uses has to be 1 to 1000.") }
        guard (1...90).contains(self.days) else { throw ValidationError("--days has to be 1 to 90.") }
        guard self.host.map(InvitationLinks.isAddress) ?? true else {
            throw ValidationError("--host has to be HOST or HOST:PORT.")
        }
        if self.qr, self.host == nil { throw ValidationError("--qr needs a --host: it draws a link.") }
    }

    func run() async throws {
        let body = try await self.options.server().post(
            "admin/invitations",
            Body(
                uses: self.uses, expiresInSeconds: self.days * 86_400, label: self.label, rateClass: self.rateClass))
        var link: String?
        try self.options.show(body, as: Answer.self) { answer in
            link = self.host.flatMap { InvitationLinks(answer.token, host: $0) }?.web
            return [
                answer.token,
                "Invitation \(answer.invitationId), until \(time(answer.expiresAt)). It is shown this once.",
            ] + self.ways(with: answer.token)
        }
        guard self.qr, let link else { return }
        for line in QRCode(link)?.lines() ?? [] { print(isatty(STDOUT_FILENO) == 1 ? QRCode.dark(line) : line) }
    }

    private func ways(with token: String) -> [String] {
        guard let links = self.host.flatMap({ InvitationLinks(token, host: $0) }) else {
            return ["Somebody new says: whisper init --server ADDRESS --invitation \(token)"]
        }
        return [
            "Somebody new opens \(links.web)",
            "or says: whisper init --invitation '\(links.app)'",
        ]
    }
}

struct InvitationsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "invitations", abstract: "Invitations, newest first, without their tokens.")

    @OptionGroup var options: AdminOptions
    @OptionGroup var page: PageOptions

    private struct Answer: Decodable {
        struct Invitation: Decodable {
            var invitationId: String
            var usesLeft, usesMax, expiresAt, createdAt: Int64
            var revokedAt: Int64?
            var label, rateClass: String?
            var byIdentity: Bool?
        }
        var invitations: [Invitation]
        var nextCursor: String?
    }

    func run() async throws {
        let body = try await self.options.server().get("admin/invitations", self.page.query)
        try self.options.show(body, as: Answer.self) { answer in
            let lines = answer.invitations.map { invitation in
                let end = invitation.revokedAt.map { "revoked \(time($0))" } ?? "until \(time(invitation.expiresAt))"
                let label =
                    invitation.label.map { "  “\(harmlessLine($0))”" }
                    ?? (invitation.byIdentity == true ? "  made by a person" : "")
                let rateClass = invitation.rateClass.map { "  class \($0)" } ?? ""
                let used = invitation.usesMax - invitation.usesLeft
                return
                    "\(time(invitation.createdAt))  \(invitation.invitationId)  \(used) of \(invitation.usesMax) used  \(end)\(label)\(rateClass)"
            }
            return listed(lines, else: "There are no invitations.") + PageOptions.more(answer.nextCursor)
        }
    }
}

struct UninviteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "uninvite", abstract: "Revoke an invitation; whoever has come in with it stays.")

    @OptionGroup var options: AdminOptions
    @Argument(help: "The invitation's id, as `invitations` lists it.") var id: String

    func run() async throws {
        guard let id = UUIDText(self.id) else { throw ValidationError("\(self.id) is not an invitation id.") }
        let body = try await self.options.server().delete("admin/invitations/\(id)")
        self.options.show(body, "The invitation is revoked.")
    }
}
