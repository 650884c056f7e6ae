import Glibc
import TerminalText

/// ANSI colours, or nothing where they would be noise.
struct Style: Sendable {
    let isOn: Bool
    /// Words in the place of signs.
    var isPlain = false

    /// The type of a terminal that has nothing but lines. `--plain` makes any terminal one.
    static let plainTerminal = "dumb"

    static var isTerminalPlain: Bool { getenv("TERM").map { String(cString: $0) } == Self.plainTerminal }

    /// For standard output: a terminal that has colours, and nobody said NO_COLOR.
    static let output = Style(
        isOn: isatty(STDOUT_FILENO) == 1 && getenv("NO_COLOR") == nil && !Self.isTerminalPlain,
        isPlain: Self.isTerminalPlain)

    /// A line without the signs that a screen reader spells out, or leaves out.
    func worded(_ line: String) -> String {
        // A line of JSON is for programs.
        guard self.isPlain, line.first != "{" else { return line }
        var line = line
        if let first = line.first, "●○✉?!+-♪…".contains(first), line.dropFirst().first == " " {
            line.removeFirst(2)
        }
        return line.replacing("↪ ", with: "answers ")
    }

    func bold(_ text: String) -> String { self.wrap("1", text) }
    func dim(_ text: String) -> String { self.wrap("2", text) }
    func green(_ text: String) -> String { self.wrap("32", text) }
    func blue(_ text: String) -> String { self.wrap("34", text) }
    func cyan(_ text: String) -> String { self.wrap("36", text) }
    func yellow(_ text: String) -> String { self.wrap("33", text) }
    func dark(_ text: String) -> String { self.isOn ? QRCode.dark(text) : text }
    func red(_ text: String) -> String { self.wrap("1;31", text) }

    private func wrap(_ code: String, _ text: String) -> String {
        self.isOn ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
    }
}

extension QRCode {
    func lines(_ style: Style) -> [String] { self.lines { style.dark($0) } }
}
