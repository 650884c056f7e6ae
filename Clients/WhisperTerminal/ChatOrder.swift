/// A line that a person enters in a chat: a text for the other person, or an order to this program.
enum ChatOrder: Equatable {
    case text(String)
    case file(path: String)
    /// The latest file of theirs.
    case save(path: String)
    case retry, cancel
    /// Orders for messages that are kept apart because of a ban.
    case resume, discard
    case accept, reject, block, unblock
    case help, quit
    /// An order that lacks something, or has too much.
    case misused(String)
    case unknown(String)

    init(_ line: String) {
        switch SlashLine(line) {
        case .text(let text): self = .text(text)
        case .order(let order): self.init(order: order)
        }
    }

    private init(order: String) {
        let words = order.split(separator: " ", maxSplits: 1)
        let word = words.first.map { String($0) } ?? ""
        let rest = words.count == 2 ? String(words[1]).trimmed : ""
        guard let entry = Self.all.first(where: { $0.word == word }) else {
            self = .unknown(order)
            return
        }
        switch entry.form {
        case .alone(let order): self = rest.isEmpty ? order : .misused(entry.usage)
        case .path(let order): self = rest.isEmpty ? .misused(entry.usage) : order(rest)
        }
    }

    // MARK: Help

    private enum Form {
        case alone(ChatOrder)
        case path(@Sendable (String) -> ChatOrder)
    }

    private struct Entry {
        var word: String
        var form: Form
        var about: String

        var usage: String {
            switch self.form {
            case .alone: "/\(self.word)"
            case .path: "/\(self.word) PATH"
            }
        }
    }

    private static var all: [Entry] {
        [
            Entry(word: "file", form: .path { .file(path: $0) }, about: "Send a file."),
            Entry(word: "save", form: .path { .save(path: $0) }, about: "Keep the latest file of theirs at this path."),
            Entry(word: "retry", form: .alone(.retry), about: "Send again what was given up (✗)."),
            Entry(word: "cancel", form: .alone(.cancel), about: "Give up what waits (◌)."),
            Entry(word: "resume", form: .alone(.resume), about: "After a ban: send what was kept apart, to everybody."),
            Entry(word: "discard", form: .alone(.discard), about: "After a ban: give up what was kept apart."),
            Entry(word: "accept", form: .alone(.accept), about: "Take a stranger's messages."),
            Entry(word: "reject", form: .alone(.reject), about: "Delete a stranger's messages, and leave."),
            Entry(word: "block", form: .alone(.block), about: "Take no more mail of this person."),
            Entry(word: "unblock", form: .alone(.unblock), about: "Take their mail again."),
            Entry(word: "help", form: .alone(.help), about: "Show the orders."),
            Entry(word: "quit", form: .alone(.quit), about: "Leave. So does Ctrl-D."),
        ]
    }

    static var helpLines: [String] {
        let rows = Self.all.map { ($0.usage, $0.about) } + [("//TEXT", "Send a text that begins with /.")]
        let width = rows.map(\.0.count).max() ?? 0
        return rows.map { usage, about in
            usage + String(repeating: " ", count: width - usage.count) + "  " + about
        }
    }
}
