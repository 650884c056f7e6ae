import TerminalText

/// The listener's screen: completed lines and remarks, and the live text in the last row of a terminal. Returns the
/// bytes; touches no terminal.
struct ListenScreen {
    /// Not a terminal: completed lines and remarks alone, one under the other.
    let isPlain: Bool
    let width: Int
    private var live = ""

    init(isPlain: Bool, width: Int) {
        self.isPlain = isPlain
        self.width = width
    }

    /// The live text is now this.
    mutating func show(live text: String) -> String {
        self.live = harmlessLine(text)
        return self.isPlain ? "" : "\r\u{1B}[K" + self.lastRow
    }

    /// A line of its own.
    func add(_ line: String) -> String {
        let line = harmlessLine(line)
        return self.isPlain ? line + "\n" : "\r\u{1B}[K" + line + "\n" + self.lastRow
    }

    /// The end of the live text, as far as one row has room.
    private var lastRow: String {
        var columns = 0
        var row: [Character] = []
        for character in self.live.reversed() {
            columns += TextWidth.columns(character)
            if columns >= self.width { break }
            row.append(character)
        }
        return String(row.reversed())
    }
}
