import ArgumentParser
import Contract
import WhisperClient

struct InboxCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "inbox", abstract: "Fetch what is waiting and show everything unread.")

    @OptionGroup var options: ProfileOptions
    @Flag(help: "Leave the messages unread.") var peek = false

    private static let shownMax = 1_000

    func run() async throws {
        let profile = try self.options.open()
        let client = try self.options.client(profile)
        let events = await client.events()
        let style = Style.output
        try await running(client) {
            let isCaughtUp = await first(in: events, within: .seconds(15)) { event -> Bool? in
                switch event {
                case .caughtUp: return true
                case .connection(.away), .connection(.stopped): return false
                case .alarm(let alarm):
                    print(style.red(describe(alarm) { "\($0)" }))
                    return nil
                default: return nil
                }
            }
            if isCaughtUp != true { print(style.yellow("The server is away; this is what has come before.")) }
            let messages = try profile.store.unread(limit: Self.shownMax)
            if messages.isEmpty { print("Nothing new.") }
            let names = Dictionary(uniqueKeysWithValues: try await client.contacts().map { ($0.id, $0.shownName) })
            for message in messages {
                print(transcript(message, name: names[message.peer] ?? "\(message.peer)", style))
            }
            guard !self.peek, !messages.isEmpty else { return }
            for peer in Set(messages.map(\.peer)) { try await client.markRead(peer) }
            // Marks that do not get through now go with the next connection.
            guard isCaughtUp == true else { return }
            for _ in 0..<20 {
                if try await client.owesNothing() { return }
                try await Task.sleep(for: .milliseconds(100))
            }
        }
    }
}

/// One message as a line for pipes and lists.
func transcript(_ message: Message, name: String, _ style: Style) -> String {
    let time = style.dim(clock(message.time))
    return switch message.direction {
    case .incoming: "\(time) \(style.bold(TextWidth.harmless(name))): \(shown(message.content))"
    case .outgoing(let state): "\(time) you: \(shown(message.content)) \(mark(state, style))"
    }
}

func shown(_ content: Message.Content) -> String {
    switch content {
    case .text(let text): TextWidth.harmless(text)
    case .other(let kind): "(\(TextWidth.harmless(kind)); this client shows text only)"
    case .unreadable: "(this message cannot be decrypted)"
    }
}
