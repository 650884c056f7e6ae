import ArgumentParser
import Contract
import Glibc
import TerminalText
import WhisperClient

struct InboxCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "inbox", abstract: "Fetch what is waiting and show everything unread.")

    @OptionGroup var options: ProfileOptions
    @OptionGroup var list: ListOptions
    @Flag(help: "Leave the messages unread.") var peek = false

    private enum End: Sendable {
        case caughtUp, away
        case stopped(StopReason)
    }

    func run() async throws {
        let style = Style.output
        // Beside lists for programs, people are told elsewhere.
        let isJSON = self.list.json
        let note: @Sendable (String) -> Void = { line in
            if isJSON { DaemonSession.write(Array("\(line)\n".utf8), to: STDERR_FILENO) } else { printLine(line) }
        }
        try await self.options.talk { core in
            let isHere = core.isHere
            let end = await first(in: core.events(), within: .seconds(15)) { event -> End? in
                switch event {
                case .caughtUp: return .caughtUp
                // A daemon that is online has what waited.
                case .connection(.online): return isHere ? nil : .caughtUp
                case .connection(.away): return .away
                case .connection(.stopped(let reason)): return .stopped(reason)
                case .alarm(let alarm):
                    note(style.red(describe(alarm) { "\($0)" }))
                    return nil
                default: return nil
                }
            }
            switch end {
            case .caughtUp: break
            case .stopped(let reason) where reason != .closed:
                note(style.yellow("\(describe(reason)) This is what has come before."))
            case .away, .stopped, nil: note(style.yellow("Can't reach the server; this is what has come before."))
            }
            let inbox = Inbox(core: core)
            let isAnyShown =
                isJSON
                ? try await inbox.showJSON(isPeeking: self.peek)
                : try await inbox.show(isPeeking: self.peek) { printLine($0) }
            // Marks that do not get through now go with the next connection. A daemon stays connected.
            if let notice = try await core.outboxNotice() { note(style.yellow(notice)) }
            guard isAnyShown, !self.peek, case .caughtUp = end, isHere else { return }
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

    /// The same for programs.
    func showJSON(isPeeking: Bool) async throws -> Bool {
        let objects = try await self.core.unreadObjects(limit: self.shownMax).objects
        print(json: objects)
        if !isPeeking { try await self.core.markRead(objects: objects) }
        return !objects.isEmpty
    }

    /// Only what was shown is marked as read.
    /// - Returns: whether there was anything.
    func show(isPeeking: Bool, say: (String) -> Void) async throws -> Bool {
        let style = Style.output
        let (messages, count) = try await self.core.unread(limit: self.shownMax)
        let more = Int(count) - messages.count
        if messages.isEmpty { say("Nothing new.") }
        let contacts = try await self.core.contacts()
        let names = Dictionary(contacts.map { ($0.id, $0.shownName) }, uniquingKeysWith: { first, _ in first })
        let strangers = Set(contacts.filter(\.isStranger).map(\.id))
        let groups = messages.contains { $0.message.groupID != nil } ? try await self.core.groupTitles() : [:]
        let ownID = try await self.core.identity()?.id
        for (_, message) in messages {
            var front = ""
            if let reply = message.replyTo, message.content != .deleted {
                front = answering(try await self.core.message(reply, isOurs: "\(reply.author)" == ownID))
            }
            let name = names[message.peer] ?? "\(message.peer)"
            // By the id: a stranger chooses no name here.
            let isStranger = strangers.contains(message.peer)
            say(
                (isStranger ? "? " : "")
                    + transcript(message, name: isStranger ? name + " (a stranger)" : name, style, groups, front: front)
            )
        }
        for stranger in Set(messages.filter { $0.message.isDirect }.map(\.message.peer)).intersection(strangers).sorted(
            by: { "\($0)" < "\($1)" })
        {
            say(
                style.yellow(
                    "? \(stranger) is a stranger, and is not told that you read this. `whisper accept \(stranger)` takes what they write, "
                        + "`whisper reject \(stranger)` deletes it, `whisper block \(stranger)` keeps them away."))
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
/// - Parameters:
///   - groups: titles by ids.
///   - front: stands before its text.
///   - isPlaceShown: whether its group is named.
func transcript(
    _ message: Message, name: String, _ style: Style, _ groups: [String: String] = [:], front: String = "",
    isPlaceShown: Bool = true
) -> String {
    let time = style.dim(clock(message.time))
    let group = isPlaceShown ? message.groupID : nil
    return switch message.direction {
    case .incoming:
        "\(time) \(style.bold(harmlessLine(name)))\(group.map { " in \(groups[$0.lowercased()] ?? $0)" } ?? ""): \(front)\(shown(message))"
    case .outgoing(let state): "\(time) you: \(front)\(shown(message)) \(mark(state, style))"
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
