import ArgumentParser
import Contract
import TerminalText
import WhisperClient

/// The messages that wait to be sent, in all chats.
struct OutboxCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "outbox", abstract: "Show what waits to be sent, and decide about it after a ban.",
        discussion: "What was written before and during a ban is kept apart: nothing of it is sent before you say so.",
        subcommands: [OutboxListCommand.self, OutboxResumeCommand.self, OutboxDiscardCommand.self],
        defaultSubcommand: OutboxListCommand.self)
}

struct OutboxListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "Show what waits, by chat.")

    @OptionGroup var options: ProfileOptions
    @OptionGroup var list: ListOptions

    func run() async throws {
        guard !self.list.json else {
            return print(
                json: try await self.options.talk(connects: false) { core in
                    try await core.listed("outbox_status", "chats")
                })
        }
        let (outbox, names) = try await self.options.talk(connects: false) { core in
            let contacts = try await core.contacts().map { ("\($0.id)", harmlessLine($0.shownName)) }
            let names = try await core.groupTitles().merging(contacts) { _, name in name }
            return (try await core.outbox(), names)
        }
        if outbox.chats.isEmpty { printLine("Nothing waits.") }
        for (chat, count) in outbox.chats { printLine("◌ \(count) to \(names[chat] ?? chat)") }
        if let notice = outbox.notice { printLine(notice) }
    }
}

struct OutboxResumeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume", abstract: "Send what was kept apart, now or with the next command that connects.")

    @OptionGroup var options: ProfileOptions
    @Option(help: "Seconds to wait.") var wait = 10

    func run() async throws {
        let left = try await self.options.talk { core in
            try await core.resumeOutbox()
            try await waitUntilOnline(core.events(), within: .seconds(self.wait))
            let end = ContinuousClock.now + .seconds(self.wait)
            while try await !core.outbox().chats.isEmpty, .now < end { try await Task.sleep(for: .milliseconds(100)) }
            return try await core.outbox().chats.reduce(0) { $0 + $1.count }
        }
        printLine(left == 0 ? "All is sent." : "\(left) still queued; the next command that connects sends them.")
        if left > 0 { throw ExitCode(75) }
    }
}

struct OutboxDiscardCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "discard", abstract: "Give up all that waits, to everybody.")

    @OptionGroup var options: ProfileOptions

    func run() async throws {
        let count = try await self.options.talk(connects: false) { core in try await core.discardOutbox() }
        printLine(describe(cancelled: count))
    }
}

extension CoreClient.Outbox {
    /// The decision that the person has to make; `nil` if nothing is kept apart.
    var notice: String? {
        guard self.isPaused else { return nil }
        return
            "This was kept apart because of a ban. `whisper outbox resume` sends it, `whisper outbox discard` gives it up."
    }
}

extension CoreClient {
    func outboxNotice() async throws -> String? { try await self.outbox().notice }
}

struct RetryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry", abstract: "Send again what was given up (✗).",
        discussion: """
            The oldest goes first. What you cancelled, and what expired, stays as it is.
            Ends with 0 when the server has all, with 75 when some stays queued here, with 1 when some was refused again.
            """)

    @OptionGroup var options: ProfileOptions
    @Option(help: "Seconds to wait.") var wait = 10
    @Argument(help: "A contact's name or Whisper ID, or the title or id of a group.") var chat: String

    func run() async throws {
        let (states, ban) = try await self.options.talk { core -> ([MessageState], String?) in
            let partner = try await findChat(self.chat, core)
            let events = core.events()
            let messages = try await core.retry(to: partner.place)
            let ban = try await Self.settle(messages, in: core, events, by: .now + .seconds(self.wait))
            var states: [MessageState] = []
            for id in messages { states += [try await core.outgoing(id).state].compactMap { $0 } }
            return (states, ban)
        }
        print(describe(retried: states.count))
        let waiting = states.count { !$0.isSettled }
        for case .failed(let reason) in states { throw Problem("Not sent: \(describe(reason)).") }
        guard waiting == 0 else {
            if let ban { throw Problem("\(waiting) not sent. \(ban)") }
            print("\(waiting) still queued; the next command that connects sends them.")
            throw ExitCode(75)
        }
    }

    /// Messages to one person are settled in their order.
    /// - Returns: why they are not, if that is known.
    private static func settle(
        _ messages: [UUIDText], in core: CoreClient, _ events: AsyncStream<ClientEvent>,
        by deadline: ContinuousClock.Instant
    ) async throws -> String? {
        if let notice = try await core.outboxNotice() { return notice }
        for id in messages {
            guard try await core.outgoing(id).state?.isSettled == false else { continue }
            enum End: Sendable { case settled, stopped(StopReason) }
            let end = await first(in: events, within: deadline - .now) { event -> End? in
                if case .connection(.stopped(let reason)) = event { return .stopped(reason) }
                guard case .changed(let changed) = event, changed.id == id else { return nil }
                return changed.state?.isSettled == true ? .settled : nil
            }
            switch end {
            case .settled: continue
            case .stopped(let reason): return describe(reason)
            case nil: return nil
            }
        }
        return nil
    }
}

struct CancelCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel", abstract: "Do not send what still waits for somebody (◌).",
        discussion: "An attempt that was made before may have arrived all the same; then the message says so.")

    @OptionGroup var options: ProfileOptions
    @Argument(help: "A contact's name or Whisper ID, or the title or id of a group.") var chat: String

    func run() async throws {
        let count = try await self.options.talk(connects: false) { core in
            try await core.cancel(to: try await findChat(self.chat, core).place)
        }
        print(describe(cancelled: count))
    }
}
