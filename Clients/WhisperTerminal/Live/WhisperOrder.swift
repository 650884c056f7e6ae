/// A line of a whisperer's input: text for the listeners, or an order to the client.
enum WhisperOrder: Equatable {
    case text(String)
    /// - Parameter name: who is meant; `nil` for the first who asks.
    case accept(String?)
    case decline(String?)
    case remove(String)
    case block(String)
    case who
    case end
    case help
    case unknown(String)

    /// A line that begins with `/` is an order (`SlashLine`).
    init(line: String) {
        switch SlashLine(line) {
        case .text(let text): self = .text(text)
        case .order(let order): self.init(order: order)
        }
    }

    /// An order without its `/`.
    init(order: String) {
        let words = order.split(separator: " ", maxSplits: 1)
        let name = words.count == 2 ? String(words[1]).trimmed : ""
        switch (words.first, name.isEmpty) {
        case ("accept", _): self = .accept(name.isEmpty ? nil : name)
        case ("decline", _): self = .decline(name.isEmpty ? nil : name)
        case ("remove", false): self = .remove(name)
        case ("block", false): self = .block(name)
        case ("who", true): self = .who
        case ("end", true): self = .end
        case ("help", true): self = .help
        default: self = .unknown(order)
        }
    }

    static let list = "/accept [NAME], /decline [NAME], /remove NAME, /block NAME, /who, /end, /help"
}
