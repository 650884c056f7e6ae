import Contract
import WhisperClient

/// The picture of a chat: a transcript that grows upwards and a prompt on the last row. Gives the bytes that change a
/// terminal from one picture to the next; touches no terminal.
struct ChatScreen {
    /// One entry of the transcript.
    struct Line {
        /// Our own message: its mark can change.
        var id: UUIDText?
        var mark = ""
        /// Time and name, and its width; the text hangs behind it.
        var head = ""
        var headColumns = 0
        var text: String
        /// Given to each row after wrapping, because wrapping counts columns.
        var paint: @Sendable (String) -> String = { $0 }
    }

    private var width: Int
    private var height: Int
    /// Kept to draw again after a change of size.
    private var lines: [(line: Line, rows: Int)] = []
    private var prompt = ""
    private var promptColumns = 0

    private static let linesMax = 500
    static let markColumns = 3

    init(width: Int, height: Int) {
        self.width = max(width, 20)
        self.height = max(height, 4)
    }

    /// Adds a line above the prompt.
    mutating func add(_ line: Line, _ editor: LineEditor) -> String {
        let rows = self.rows(line)
        self.lines.append((line, rows.count))
        if self.lines.count > Self.linesMax { self.lines.removeFirst() }
        return "\r\u{1B}[K" + rows.map { $0 + "\r\n" }.joined() + self.promptRow(editor)
    }

    /// Changes the mark of a line that is still on the screen; what has scrolled away stays as it was.
    mutating func mark(_ id: UUIDText, _ mark: String, _ editor: LineEditor) -> String {
        guard let index = self.lines.lastIndex(where: { $0.line.id == id }) else { return "" }
        self.lines[index].line.mark = mark
        let up = self.lines[index...].reduce(0) { $0 + $1.rows }
        guard up < self.height else { return "" }
        return "\r\u{1B}[\(up)A" + Self.padded(mark) + "\r\u{1B}[\(up)B" + self.promptRow(editor)
    }

    func contains(_ id: UUIDText) -> Bool { self.lines.contains { $0.line.id == id } }

    mutating func set(prompt: String, columns: Int, _ editor: LineEditor) -> String {
        self.prompt = prompt
        self.promptColumns = columns
        return self.promptRow(editor)
    }

    /// The last row anew: after each key.
    func promptRow(_ editor: LineEditor) -> String {
        let (shown, cursor) = editor.window(width: max(self.width - self.promptColumns - 1, 4))
        let column = self.promptColumns + cursor
        return "\r\u{1B}[K" + self.prompt + shown + "\r" + (column > 0 ? "\u{1B}[\(column)C" : "")
    }

    /// Everything anew, at this size.
    mutating func resize(width: Int, height: Int, _ editor: LineEditor) -> String {
        self.width = max(width, 20)
        self.height = max(height, 4)
        var drawn: [String] = []
        for index in self.lines.indices {
            let rows = self.rows(self.lines[index].line)
            self.lines[index].rows = rows.count
            drawn += rows
        }
        return "\u{1B}[H\u{1B}[2J" + drawn.suffix(self.height - 1).map { $0 + "\r\n" }.joined() + self.promptRow(editor)
    }

    private func rows(_ line: Line) -> [String] {
        let indent = Self.markColumns + line.headColumns
        let rows = TextWidth.wrapped(line.text, width: self.width - indent - 1)
        return rows.enumerated().map { position, row in
            let front = position == 0 ? Self.padded(line.mark) + line.head : String(repeating: " ", count: indent)
            return front + line.paint(row)
        }
    }

    /// The mark in its column. Marks have no wide characters; colours take no columns.
    private static func padded(_ mark: String) -> String {
        var columns = 0
        var isEscape = false
        for character in mark {
            if character == "\u{1B}" { isEscape = true } else if !isEscape { columns += 1 }
            if isEscape && character == "m" { isEscape = false }
        }
        return mark + String(repeating: " ", count: max(Self.markColumns - columns, 0))
    }
}

/// The sign of a message's state.
func mark(_ state: MessageState, _ style: Style) -> String {
    switch state {
    case .queued: style.dim("◌")
    case .sending: style.dim("…")
    case .sent: style.dim("✓")
    case .delivered: "✓✓"
    case .read: style.cyan("✓✓")
    case .failed: style.red("✗")
    case .expired: style.red("∅")
    }
}
