import ArgumentParser
import Contract

/// `whisper-admin`: what operators ask and do, from a terminal. The same HTTP as everybody's (docs/openapi.json).
@main
struct AdminCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "whisper-admin",
        abstract: "Look after a Whisper cluster.",
        discussion: """
            The token is read from $ADMIN_TOKEN, or $VIEWER_TOKEN for looking only, or a file (--token-file); it is no \
            argument, because everybody on a machine sees those. Every call is recorded: see `whisper-admin audit`.
            """,
        version: Release.line("whisper-admin"),
        subcommands: [
            StatsCommand.self, IdentityCommand.self, ReportsCommand.self, ReviewCommand.self, BanCommand.self,
            UnbanCommand.self,
            BansCommand.self, RegistrationCommand.self, InviteCommand.self, InvitationsCommand.self,
            UninviteCommand.self, EraseCommand.self, ErasuresCommand.self, AuditCommand.self, MessageCommand.self,
            DeadLettersCommand.self, CollectCommand.self, AuditAttachmentsCommand.self,
        ])
}
