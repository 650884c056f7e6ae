import WhisperClient
import WhisperCore

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
    /// Their message of this number: 1 is the latest, 2 the one before.
    case reply(to: Int, text: String)
    /// An empty reaction takes back the one before.
    case react(to: Int, reaction: String)
    /// Our message of this number, counted in the same way.
    case edit(Int, text: String)
    case delete(Int)
    case search(String)
    case verify, verified(Bool)
    case members
    /// A question and its options.
    case poll(String, options: [String])
    /// Places of options of the latest poll, the first is 0; none takes the vote back.
    case vote([Int])
    /// Our own link.
    case link
    /// Seconds after which new messages disappear; 0: they stay.
    case timer(Int64)
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
        case .rest(_, let order): self = (rest.isEmpty ? nil : order(rest)) ?? .misused(entry.usage)
        case .message(_, let order):
            let (number, text) = Self.message(rest)
            self = ((1...Self.numberMax).contains(number) ? order(number, text) : nil) ?? .misused(entry.usage)
        }
    }

    /// Messages that are counted back.
    private static let numberMax = CoreLimits.listMax

    /// - Returns: the number of `-N`, also one that no message has, and the text behind it. Without `-N` it is 1, the latest one.
    private static func message(_ rest: String) -> (Int, String) {
        let words = rest.split(separator: " ", maxSplits: 1)
        guard let first = words.first, first.count > 1, first.hasPrefix("-"),
            first.dropFirst().allSatisfy({ ("0"..."9").contains($0) })
        else { return (1, rest) }
        return (Int(first.dropFirst()) ?? 0, words.count == 2 ? String(words[1]).trimmed : "")
    }

    // MARK: Help

    private enum Form {
        case alone(ChatOrder)
        /// With one word or more, which the help calls so.
        case rest(String, @Sendable (String) -> ChatOrder?)
        /// About a message, with or without words behind it.
        case message(String, @Sendable (Int, String) -> ChatOrder?)
    }

    private struct Entry {
        var word: String
        var form: Form
        var about: String

        var usage: String {
            switch self.form {
            case .alone: "/\(self.word)"
            case .rest(let rest, _): "/\(self.word) \(rest)"
            case .message(let rest, _): "/\(self.word) [-N]\(rest)"
            }
        }
    }

    private static var all: [Entry] {
        [
            Entry(
                word: "reply", form: .message(" TEXT") { $1.isEmpty ? nil : .reply(to: $0, text: $1) },
                about: "Answer their latest message; -2 is the one before it."),
            Entry(
                word: "react", form: .message(" [EMOJI]") { .react(to: $0, reaction: $1) },
                about: "React to it. Without EMOJI, take the reaction back."),
            Entry(
                word: "edit", form: .message(" TEXT") { $1.isEmpty ? nil : .edit($0, text: $1) },
                about: "Give your latest message another text."),
            Entry(
                word: "delete", form: .message("") { $1.isEmpty ? .delete($0) : nil },
                about: "Delete your latest message, here and there."),
            Entry(word: "search", form: .rest("WORDS") { .search($0) }, about: "Find messages of this chat."),
            Entry(word: "file", form: .rest("PATH") { .file(path: $0) }, about: "Send a file."),
            Entry(
                word: "save", form: .rest("PATH") { .save(path: $0) },
                about: "Keep the latest file of theirs at this path."),
            Entry(word: "retry", form: .alone(.retry), about: "Send again what was given up (✗)."),
            Entry(word: "cancel", form: .alone(.cancel), about: "Give up what waits (◌)."),
            Entry(word: "resume", form: .alone(.resume), about: "After a ban: send what was kept apart, to everybody."),
            Entry(word: "discard", form: .alone(.discard), about: "After a ban: give up what was kept apart."),
            Entry(word: "accept", form: .alone(.accept), about: "Take a stranger's messages."),
            Entry(word: "reject", form: .alone(.reject), about: "Delete a stranger's messages, and leave."),
            Entry(word: "block", form: .alone(.block), about: "Take no more mail of this person."),
            Entry(word: "unblock", form: .alone(.unblock), about: "Take their mail again."),
            Entry(word: "members", form: .alone(.members), about: "Say who is in the group."),
            Entry(word: "verify", form: .alone(.verify), about: "Show the safety number, to compare by voice."),
            Entry(word: "verified", form: .rest("yes|no") { Self.verified[$0] }, about: "Note whether it is the same."),
            Entry(
                word: "poll", form: .rest("QUESTION | ANSWER | ANSWER") { Self.poll($0) },
                about: "Ask something. Others choose an answer."),
            Entry(
                word: "vote", form: .rest("NUMBER|none") { Self.vote($0) },
                about: "Choose an answer of the latest poll; more than one with spaces between."),
            Entry(
                word: "timer", form: .rest("TIME|off") { Self.seconds($0).map { .timer($0) } },
                about: "Have new messages disappear, there too: 30s, 5m, 8h, 1d or 4w after reading."),
            Entry(word: "link", form: .alone(.link), about: "Show the link by which others add you."),
            Entry(word: "help", form: .alone(.help), about: "Show the orders."),
            Entry(word: "quit", form: .alone(.quit), about: "Leave. So does Ctrl-D."),
        ]
    }

    /// - Returns: `nil` for what is no time that a timer may have.
    private static func seconds(_ text: String) -> Int64? {
        if text == "off" { return 0 }
        let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800]
        guard let unit = text.last.flatMap({ units[$0] }), let count = Int64(text.dropLast()) else { return nil }
        let (seconds, isTooLong) = count.multipliedReportingOverflow(by: unit)
        return !isTooLong && ChatTimer.isTime(seconds) ? seconds : nil
    }

    private static func poll(_ text: String) -> ChatOrder? {
        let parts = text.split(separator: "|", omittingEmptySubsequences: false).map { String($0).trimmed }
        guard parts.count > ClientLimits.pollOptions.lowerBound, parts.allSatisfy({ !$0.isEmpty }) else { return nil }
        return .poll(parts[0], options: Array(parts.dropFirst()))
    }

    private static func vote(_ text: String) -> ChatOrder? {
        if text == "none" { return .vote([]) }
        let numbers = text.split(separator: " ").map { Int($0) }
        guard numbers.allSatisfy({ $0.map { $0 > 0 } ?? false }) else { return nil }
        return .vote(Set(numbers.compactMap { $0 }).map { $0 - 1 }.sorted())
    }

    private static let verified: [String: ChatOrder] = ["yes": .verified(true), "no": .verified(false)]

    static var helpLines: [String] {
        let rows = Self.all.map { ($0.usage, $0.about) } + [("//TEXT", "Send a text that begins with /.")]
        let width = rows.map(\.0.count).max() ?? 0
        return rows.map { usage, about in
            usage + String(repeating: " ", count: width - usage.count) + "  " + about
        }
    }
}
