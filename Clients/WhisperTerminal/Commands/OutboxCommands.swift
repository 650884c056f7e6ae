import ArgumentParser
import Contract
import TerminalText
import WhisperClient

struct RetryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry", abstract: "Send again what was given up (✗).",
        discussion: """
            The oldest goes first. What you cancelled, and what expired, stays as it is.
            Ends with 0 when the server has all, with 75 when some stays queued here, with 1 when some was refused again.
            """)

    @OptionGroup var options: ProfileOptions
    @Option(help: "Seconds to wait.") var wait = 10
    @Argument(help: "A contact's name or Whisper ID.") var person: String

    func run() async throws {
        let states = try await self.options.talk { core -> [MessageState] in
            let contact = try find(self.person, in: try await core.contacts())
            let events = core.events()
            let messages = try await core.retry(to: contact.id)
            try await Self.settle(messages, in: core, events, by: .now + .seconds(self.wait))
            var states: [MessageState] = []
            for id in messages { states += [try await core.outgoing(id).state].compactMap { $0 } }
            return states
        }
        print(describe(retried: states.count))
        let waiting = states.count { !$0.isSettled }
        for case .failed(let reason) in states { throw Problem("Not sent: \(describe(reason)).") }
        guard waiting == 0 else {
            print("\(waiting) still queued; the next command that connects sends them.")
            throw ExitCode(75)
        }
    }

    /// Messages to one person are settled in their order.
    private static func settle(
        _ messages: [UUIDText], in core: CoreClient, _ events: AsyncStream<ClientEvent>,
        by deadline: ContinuousClock.Instant
    ) async throws {
        for id in messages {
            guard try await core.outgoing(id).state?.isSettled == false else { continue }
            let isSettled = await first(in: events, within: deadline - .now) { event -> Bool? in
                guard case .changed(let changed) = event, changed.id == id else { return nil }
                return changed.state?.isSettled == true ? true : nil
            }
            guard isSettled == true else { return }
        }
    }
}

struct CancelCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel", abstract: "Do not send what still waits for somebody (◌).",
        discussion: "An attempt that was made before may have arrived all the same; then the message says so.")

    @OptionGroup var options: ProfileOptions
    @Argument(help: "A contact's name or Whisper ID.") var person: String

    func run() async throws {
        let count = try await self.options.talk(connects: false) { core in
            try await core.cancel(to: try find(self.person, in: try await core.contacts()).id)
        }
        print(describe(cancelled: count))
    }
}
