/// A line that a person types or pipes in: text, which leaves this machine, or an order to this program, which never does.
enum SlashLine: Equatable {
    case text(String)
    /// Without its `/`.
    case order(String)

    /// A line whose first visible character is `/` is an order. `//` stands for a `/` that is text.
    init(_ line: String) {
        let blank = line.prefix { $0.isWhitespace }
        let words = line.dropFirst(blank.count)
        guard words.hasPrefix("/") else {
            self = .text(line)
            return
        }
        let rest = words.dropFirst()
        self = rest.hasPrefix("/") ? .text(blank + String(rest)) : .order(String(rest).trimmed)
    }

    /// The answer to an unknown order.
    static func unknown(_ order: String) -> String {
        let word = order.split(separator: " ", maxSplits: 1).first.map { String($0) } ?? ""
        return
            "There is no order /\(word), and nothing was sent. /help lists the orders; // stands for a / that is text."
    }
}
