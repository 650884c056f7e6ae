import ArgumentParser
import Contract
import TerminalText
import WhisperClient

struct InboxCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "inbox", abstract: "Fetch what is waiting and show everything unread.")

    @OptionGroup var options: ProfileOptions
    @Flag(help: "Leave the messages unread.") var peek = false

    func run() async throws {
        let style = Style.output
        try await self.options.talk { core in
            let isHere = core.isHere
            let isCaughtUp = await first(in: core.events(), within: .seconds(15)) { event -> Bool? in
                switch event {
                case .caughtUp: return true
                // A daemon that is online has what waited.
                case .connection(.online): return isHere ? nil : true
                case .connection(.away), .connection(.stopped): return false
                case .alarm(let alarm):
                    print(style.red(describe(alarm) { "\($0)" }))
                    return nil
                default: return nil
                }
            }
            if isCaughtUp != true { print(style.yellow("The server is away; this is what has come before.")) }
            let isAnyShown = try await Inbox(core: core).show(isPeeking: self.peek) { print($0) }
            // Marks that do not get through now go with the next connection. A daemon stays connected.
            guard isAnyShown, !self.peek, isCaughtUp == true, isHere else { return }
            for _ in 0..<20 {
                if try await !core.owesReadMarks() { return }
                try await Task.sleep(for: .milliseconds(100))
            }
        }
    }
}

/// What is unread, as lines.
struct Inbox {
    let core: CoreClient
    /// Messages shown at a time.
    var shownMax = 1_000

    /// Only what was shown is marked as read.
    /// - Returns: whether there was anything.
    func show(isPeeking: Bool, say: (String) -> Void) async throws -> Bool {
        let style = Style.output
        let (messages, count) = try await self.core.unread(limit: self.shownMax)
        let more = Int(count) - messages.count
        if messages.isEmpty { say("Nothing new.") }
        let names = Dictionary(
            try await self.core.contacts().map { ($0.id, $0.shownName) }, uniquingKeysWith: { first, _ in first })
        for (_, message) in messages {
            say(transcript(message, name: names[message.peer] ?? "\(message.peer)", style))
        }
        if !isPeeking { try await self.core.markRead(messages) }
        if more > 0 {
            let hint = isPeeking ? "`whisper inbox` without --peek shows them in turn" : "`whisper inbox` shows them"
            say(style.yellow("\(more) more unread: \(hint)."))
        }
        return !messages.isEmpty
    }
}

/// One message as a line for pipes and lists.
func transcript(_ message: Message, name: String, _ style: Style) -> String {
    let time = style.dim(clock(message.time))
    return switch message.direction {
    case .incoming:
        "\(time) \(style.bold(harmlessLine(name)))\(message.groupID.map { " in \($0)" } ?? ""): \(shown(message))"
    case .outgoing(let state): "\(time) you: \(shown(message)) \(mark(state, style))"
    }
}

func shown(_ content: Message.Content) -> String {
    switch content {
    case .text(let text): text.isEmpty ? "(a file; this client shows text only)" : harmless(text)
    case .other(let kind, let body): shown(kind: kind, body)
    case .unreadable: "(this message cannot be decrypted)"
    case .deleted: "(this message was deleted)"
    }
}

/// What has the length and the form of a text is shown, whatever the server calls it.
private func shown(kind: String, _ body: [UInt8]) -> String {
    guard !body.isEmpty, body.count <= ClientLimits.textBytesMax, let text = String(validating: body, as: UTF8.self)
    else { return "(\(harmlessLine(kind)); this client shows text only)" }
    return "(\(harmlessLine(kind))) \(harmless(text))"
}
