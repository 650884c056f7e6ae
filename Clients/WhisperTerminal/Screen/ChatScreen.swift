import Contract
import WhisperClient

/// The picture of a chat: a transcript that grows upwards and a prompt on the last row. Gives the bytes that change a
/// terminal from one picture to the next; touches no terminal.
struct ChatScreen {
    /// One entry of the transcript.
    struct Line {
        /// A message, which can change.
        var key: MessageKey?
        var mark = ""
        /// Time and name, and its width; the text hangs behind it.
        var head = ""
        var headColumns = 0
        var text: String
        /// Given to each row after wrapping, because wrapping counts columns.
        var paint: @Sendable (String) -> String = { $0 }
        /// Neither indented nor broken: a terminal that wraps it by itself still copies and opens it as one word.
        var isWhole = false
    }

    /// A row of the terminal. One that does not end runs on in the next.
    private struct Row {
        var text: String
        var ends = true
        /// It takes the whole width: behind it there is nothing to wipe.
        var isFull = false

        var bytes: String { self.text + (self.isFull ? "" : "\u{1B}[K") + (self.ends ? "\r\n" : "") }
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
        return "\r" + rows.map(\.bytes).joined() + self.promptRow(editor)
    }

    /// Changes the mark of a line that is still on the screen; what has scrolled away stays as it was.
    mutating func mark(_ key: MessageKey, _ mark: String, _ editor: LineEditor) -> String {
        guard let index = self.index(of: key) else { return "" }
        self.lines[index].line.mark = mark
        let up = self.lines[index...].reduce(0) { $0 + $1.rows }
        guard up < self.height else { return "" }
        return "\r\u{1B}[\(up)A" + Self.padded(mark) + "\r\u{1B}[\(up)B" + self.promptRow(editor)
    }

    /// Changes the text of a line.
    /// - Returns: the bytes, and whether the whole line was on the screen. Rows that scrolled away stay as they were.
    mutating func change(_ key: MessageKey, to text: String, _ editor: LineEditor) -> (bytes: String, isSeen: Bool) {
        guard self.contains(key) else { return ("", false) }
        return self.change(editor) { $0.key == key ? text : $0.text }
    }

    /// Gives lines another text, or removes those without one. Draws anew from the first of them on.
    mutating func change(_ editor: LineEditor, _ text: (Line) -> String?) -> (bytes: String, isSeen: Bool) {
        let texts = self.lines.map { text($0.line) }
        guard let first = self.lines.indices.first(where: { self.lines[$0].line.text != texts[$0] }) else {
            return ("", true)
        }
        let up = self.lines[first...].reduce(0) { $0 + $1.rows }
        let top = self.height - 1
        var drawn: [Row] = []
        let changed = zip(self.lines[first...], texts[first...]).compactMap { entry, text -> (Line, Int)? in
            guard let text else { return nil }
            var line = entry.line
            line.text = text
            let rows = self.rows(line)
            drawn += rows
            return (line, rows.count)
        }
        self.lines.replaceSubrange(first..., with: changed)
        // The cursor cannot reach rows above the first row of the terminal.
        let reached = min(up, top)
        let shown = up > top ? Array(drawn.suffix(top)) : drawn
        let bytes =
            "\r" + (reached > 0 ? "\u{1B}[\(reached)A" : "") + shown.map(\.bytes).joined() + "\u{1B}[J"
            + self.promptRow(editor)
        return (bytes, up <= top)
    }

    func contains(_ key: MessageKey) -> Bool { self.index(of: key) != nil }

    private func index(of key: MessageKey) -> Int? { self.lines.lastIndex { $0.line.key == key } }

    mutating func set(prompt: String, columns: Int, _ editor: LineEditor) -> String {
        self.prompt = prompt
        self.promptColumns = columns
        return self.promptRow(editor)
    }

    /// The last row anew: after each key.
    func promptRow(_ editor: LineEditor) -> String {
        let (before, after) = editor.window(width: max(self.width - self.promptColumns - 1, 4))
        // The terminal itself remembers where the cursor stands: not all agree about the width of all characters.
        let rest = after.isEmpty ? "" : "\u{1B}7" + after + "\u{1B}8"
        return "\r\u{1B}[K" + self.prompt + before + rest
    }

    /// Everything anew, at this size.
    mutating func resize(width: Int, height: Int, _ editor: LineEditor) -> String {
        self.width = max(width, 20)
        self.height = max(height, 4)
        var drawn: [Row] = []
        for index in self.lines.indices {
            let rows = self.rows(self.lines[index].line)
            self.lines[index].rows = rows.count
            drawn += rows
        }
        return "\u{1B}[H\u{1B}[2J" + drawn.suffix(self.height - 1).map(\.bytes).joined() + self.promptRow(editor)
    }

    private func rows(_ line: Line) -> [Row] {
        guard !line.isWhole else {
            let pieces = TextWidth.pieces(of: line.text, width: self.width)
            return pieces.enumerated().map { position, piece in
                Row(
                    text: line.paint(piece), ends: position == pieces.count - 1,
                    isFull: TextWidth.columns(piece) == self.width)
            }
        }
        let indent = Self.markColumns + line.headColumns
        let rows = TextWidth.wrapped(line.text, width: self.width - indent - 1)
        return rows.enumerated().map { position, row in
            let front = position == 0 ? Self.padded(line.mark) + line.head : String(repeating: " ", count: indent)
            return Row(text: front + line.paint(row))
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
    guard !style.isPlain else { return "(\(word(state)))" }
    return switch state {
    case .queued: style.dim("◌")
    case .sending: style.dim("…")
    case .sent: style.dim("✓")
    case .delivered: "✓✓"
    // Another sign, not another colour alone.
    case .read: style.cyan("◉")
    case .failed: style.red("✗")
    case .expired: style.red("∅")
    }
}

private func word(_ state: MessageState) -> String {
    switch state {
    case .queued: "queued"
    case .sending: "sending"
    case .sent: "sent"
    case .delivered: "delivered"
    case .read: "read"
    case .failed: "not sent"
    case .expired: "expired"
    }
}
