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
        let profile = try self.options.open()
        let contact = try find(self.person, in: try profile.store.contacts())
        let client = try self.options.client(profile)
        let events = await client.events()
        let messages = try await running(client) {
            let messages = try await client.retry(to: contact.id)
            try await Self.settle(messages, in: profile.store, events, by: .now + .seconds(self.wait))
            return messages
        }
        print(describe(retried: messages.count))
        let states = try messages.compactMap { try profile.store.outgoing($0.id)?.state }
        let waiting = states.count { !$0.isSettled }
        for case .failed(let reason) in states { throw Problem("Not sent: \(describe(reason)).") }
        guard waiting == 0 else {
            print("\(waiting) still queued; the next command that connects sends them.")
            throw ExitCode(75)
        }
    }

    /// Messages to one person are settled in their order.
    private static func settle(
        _ messages: [Message], in store: ClientStore, _ events: AsyncStream<ClientEvent>,
        by deadline: ContinuousClock.Instant
    ) async throws {
        for message in messages where try store.outgoing(message.id)?.state?.isSettled == false {
            let isSettled = await first(in: events, within: deadline - .now) { event -> Bool? in
                guard case .changed(let changed) = event, changed.id == message.id else { return nil }
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
        let profile = try self.options.open()
        let contact = try find(self.person, in: try profile.store.contacts())
        let client = try self.options.client(profile)
        print(describe(cancelled: try await client.cancel(to: contact.id).count))
    }
}
