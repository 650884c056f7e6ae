import ArgumentParser
import Contract
import Foundation
import TerminalText

/// `whisper-admin`: what operators ask and do, from a terminal. The same HTTP as everybody's (docs/openapi.json).
struct AdminCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "whisper-admin",
        abstract: "Look after a Whisper cluster.",
        discussion: """
            The token is read from $ADMIN_TOKEN, or $VIEWER_TOKEN for looking only, or a file (--token-file); it is no \
            argument, because everybody on a machine sees those. Every call is recorded: see `whisper-admin audit`.

            Exit status: 0 done, 1 refused, 2 wrong usage, 3 no answer that can be used: can't reach the server, or it has a fault.
            """,
        version: Release.line("whisper-admin"),
        subcommands: [
            StatsCommand.self, IdentityCommand.self, RateClassCommand.self, RateClassesCommand.self,
            ReportsCommand.self, ReviewCommand.self, BanCommand.self,
            UnbanCommand.self,
            BansCommand.self, RegistrationCommand.self, InviteCommand.self, InvitationsCommand.self,
            UninviteCommand.self, ExportCommand.self, RetentionCommand.self, EraseCommand.self, ErasuresCommand.self,
            AuditCommand.self, MessageCommand.self,
            DeadLettersCommand.self, CollectCommand.self, AuditAttachmentsCommand.self,
        ])
}

@main
enum AdminTool {
    /// Status of the process, besides 0.
    private enum Status {
        static let refused: Int32 = 1
        static let usage: Int32 = 2
        static let noAnswer: Int32 = 3
    }

    static func main() async {
        do {
            var command = try AdminCommand.parseAsRoot()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch {
            let code = AdminCommand.exitCode(for: error)
            let text = AdminCommand.fullMessage(for: error)
            (code.isSuccess ? FileHandle.standardOutput : .standardError).write(Data((text + "\n").utf8))
            exit(Self.status(of: error, code))
        }
    }

    private static func status(of error: any Error, _ code: ExitCode) -> Int32 {
        switch error {
        case is NoAnswer: Status.noAnswer
        case is Problem: Status.refused
        default: code.isSuccess ? 0 : Status.usage
        }
    }
}
