import ArgumentParser
import Contract
import TerminalText
import WhisperClient

struct SendCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "send", abstract: "Send one message.",
        discussion: """
            Ends with 0 when the server has it, with 75 when it stays queued here, with 1 when it was refused, or is kept apart because
            of a ban.
            A daemon that serves the profile sends it.
            """
    )

    enum Goal: String, ExpressibleByArgument, CaseIterable { case sent, delivered, read }

    @OptionGroup var options: ProfileOptions
    @Option(help: "What to wait for.") var until = Goal.sent
    @Option(help: "Seconds to wait.") var wait = 10
    @Argument(help: "A contact's name or Whisper ID, or the title or id of a group.") var chat: String
    @Argument(help: "The message. Read from standard input if absent.") var text: [String] = []

    func run() async throws {
        let goal = self.until
        let (state, ban) = try await self.options.talk { core -> (MessageState, String?) in
            let partner = try await findChat(self.chat, core)
            let text = self.text.isEmpty ? Self.input() : self.text.joined(separator: " ")
            let isPaused = try await core.outbox().isPaused
            let events = core.events()
            let message = try await core.send(text, to: partner.place)
            let end = await first(in: events, within: .seconds(self.wait)) { event -> End? in
                switch event {
                case .changed(let changed) where changed.id == message.id:
                    changed.state.flatMap { Self.isReached(goal, $0) ? .state($0) : nil }
                case .connection(.stopped(let reason)): .stopped(reason)
                case .connection(.away): .away
                // A paused outbox sends nothing, though the server is there.
                case .caughtUp: isPaused ? .away : nil
                default: nil
                }
            }
            if case .state(let state) = end { return (state, nil) }
            let state = try await core.outgoing(message.id).state ?? .queued
            if case .stopped(let reason) = end, reason != .closed { return (state, describe(reason)) }
            return (state, try await core.outboxNotice())
        }
        if let ban, state == .queued || state == .sending { throw Problem("Not sent. \(ban)") }
        try self.report(state)
    }

    private enum End: Sendable {
        case state(MessageState)
        case away
        case stopped(StopReason)
    }

    private func report(_ state: MessageState) throws {
        let style = Style.output
        switch state {
        case .queued, .sending:
            print(
                mark(.queued, style)
                    + " Can't reach the server. The message is queued and goes out with the next command that connects."
            )
            throw ExitCode(75)
        case .sent: print(mark(state, style) + " sent")
        case .delivered: print(mark(state, style) + " delivered")
        case .read: print(mark(state, style) + " read")
        case .failed(let reason):
            throw Problem("Not sent: \(describe(reason)). `whisper retry \(self.chat)` sends it again.")
        case .expired: throw Problem("Nobody came for the message in time.")
        }
    }

    /// Also a state from which the goal cannot be reached any more.
    private static func isReached(_ goal: Goal, _ state: MessageState) -> Bool {
        switch (goal, state) {
        case (_, .failed), (_, .expired), (_, .read): true
        case (.sent, .sent), (.sent, .delivered), (.delivered, .delivered): true
        default: false
        }
    }

    private static func input() -> String {
        var text = ""
        while let line = readLine(strippingNewline: false) { text += line }
        return text.hasSuffix("\n") ? String(text.dropLast()) : text
    }
}
