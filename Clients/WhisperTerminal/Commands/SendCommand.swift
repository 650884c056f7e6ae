import ArgumentParser
import Contract
import Dispatch
import Foundation
import TerminalText
import WhisperClient
import WhisperCore

struct SendCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "send", abstract: "Send one message.",
        discussion: """
            Ends with 0 when the server has it, with 75 when it stays queued here, with 1 when it was refused.
            A daemon that serves the profile sends it.
            """
    )

    enum Goal: String, ExpressibleByArgument, CaseIterable { case sent, delivered, read }

    @OptionGroup var options: ProfileOptions
    @Option(help: "What to wait for.") var until = Goal.sent
    @Option(help: "Seconds to wait.") var wait = 10
    @Argument(help: "A contact's name or Whisper ID.") var person: String
    @Argument(help: "The message. Read from standard input if absent.") var text: [String] = []

    func run() async throws {
        // A daemon that ends meanwhile is an error, not the end of this process.
        signal(SIGPIPE, SIG_IGN)
        let path = self.options.daemonSocket
        let through = try await Blocking.run { () -> Result<MessageState, any Error>? in
            DaemonClient.connected(to: path).map { daemon in Result { try self.send(through: daemon) } }
        }?.get()
        try self.report(try await { if let through { through } else { try await self.sendHere() } }())
    }

    private func sendHere() async throws -> MessageState {
        let profile = try self.options.open()
        let contact = try find(self.person, in: try profile.store.contacts())
        let text = self.text.isEmpty ? Self.input() : self.text.joined(separator: " ")
        let client = try self.options.client(profile)
        let events = await client.events()
        let goal = self.until
        return try await running(client) {
            let message: Message
            do throws(SendError) {
                message = try await client.send(text, to: contact.id)
            } catch {
                throw Problem(describe(error))
            }
            let end = await first(in: events, within: .seconds(self.wait)) { event -> MessageState? in
                switch event {
                case .changed(let changed) where changed.id == message.id:
                    changed.state.flatMap { Self.isReached(goal, $0) ? $0 : nil }
                case .connection(.away), .connection(.stopped): .queued
                default: nil
                }
            }
            return try end ?? profile.store.outgoing(message.id)?.state ?? .queued
        }
    }

    private func report(_ state: MessageState) throws {
        let style = Style.output
        switch state {
        case .queued, .sending:
            print(
                mark(.queued, style)
                    + " The server is away. The message is queued and goes out with the next command that connects.")
            throw ExitCode(75)
        case .sent: print(mark(state, style) + " sent")
        case .delivered: print(mark(state, style) + " delivered")
        case .read: print(mark(state, style) + " read")
        case .failed(let reason):
            throw Problem("Not sent: \(describe(reason)). `whisper retry \(self.person)` sends it again.")
        case .expired: throw Problem("Nobody came for the message in time.")
        }
    }

    /// It blocks its thread.
    private func send(through daemon: DaemonClient) throws -> MessageState {
        do {
            let contact = try find(self.person, in: try daemon.contacts())
            let text = self.text.isEmpty ? Self.input() : self.text.joined(separator: " ")
            guard let message = try daemon.send(text, to: contact.id) else {
                throw Problem("The daemon answers strangely.")
            }
            let deadline = DispatchTime.now() + .seconds(self.wait)
            var state = message.state
            while !Self.isReached(self.goal, state), try daemon.isOnline(),
                let event = try daemon.event(until: deadline)
            {
                guard event.string("type") == "messageChanged", let changed = SentMessage(event["message"]),
                    changed.id == message.id
                else { continue }
                state = changed.state
            }
            return state
        } catch let refusal as DaemonClient.Refusal {
            throw Problem(refusal.message)
        }
    }

    private var goal: Goal { self.until }

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
