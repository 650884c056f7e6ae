import ArgumentParser
import Contract
import WhisperClient

/// `whisper`: an end-to-end-encrypted conversation in a terminal.
@main
struct WhisperCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "whisper",
        abstract: "Talk to people, end-to-end encrypted.",
        discussion: """
            Start with `whisper init`, give a friend your link (`whisper link`), `whisper add` theirs, and `whisper chat`.
            Each profile is one identity on this machine; try two with --profile.
            """,
        version: Release.line("whisper"),
        subcommands: [
            AppCommand.self, InitCommand.self, RestoreCommand.self, ServerCommand.self, IDCommand.self,
            LinkCommand.self,
            AddCommand.self, InviteCommand.self, UninviteCommand.self,
            ContactsCommand.self,
            AcceptCommand.self, RejectCommand.self, BlockCommand.self, UnblockCommand.self,
            ChatCommand.self, SendCommand.self, RetryCommand.self, CancelCommand.self, OutboxCommand.self,
            InboxCommand.self,
            WhisperingCommand.self, ConversationCommand.self, ListenCommand.self, RoomCommand.self, DaemonCommand.self,
            DoCommand.self, ExportCommand.self, LeaveCommand.self, ReadCodeCommand.self,
        ])
}
