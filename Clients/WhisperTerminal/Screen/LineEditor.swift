/// The line being written: text, cursor and what was written before. Draws nothing.
struct LineEditor {
    private(set) var text: [Character] = []
    /// Between 0 and `text.count`.
    private(set) var cursor = 0
    private var history: [[Character]] = []
    /// Where in the history the person looks; `history.count` is the line itself.
    private var position = 0
    private var unfinished: [Character] = []

    private static let historyMax = 200

    enum Outcome: Equatable { case edited, entered(String), leave }

    mutating func handle(_ key: Key) -> Outcome {
        switch key {
        case .text(let typed): self.put(String(self.text[..<self.cursor]) + typed, String(self.text[self.cursor...]))
        case .enter: return self.enter()
        case .backspace where self.cursor > 0:
            self.cut(self.cursor - 1..<self.cursor)
        case .delete where self.cursor < self.text.count: self.cut(self.cursor..<self.cursor + 1)
        // In an empty line it means leaving, as in a shell.
        case .endOfInput where self.text.isEmpty: return .leave
        case .endOfInput where self.cursor < self.text.count: self.cut(self.cursor..<self.cursor + 1)
        case .interrupt:
            if self.text.isEmpty { return .leave }
            self.replace(with: [])
        case .left: self.cursor = max(self.cursor - 1, 0)
        case .right: self.cursor = min(self.cursor + 1, self.text.count)
        case .wordLeft: self.cursor = self.wordStart
        case .wordRight:
            while self.cursor < self.text.count, self.text[self.cursor] == " " { self.cursor += 1 }
            while self.cursor < self.text.count, self.text[self.cursor] != " " { self.cursor += 1 }
        case .home: self.cursor = 0
        case .end: self.cursor = self.text.count
        case .killToEnd: self.cut(self.cursor..<self.text.count)
        case .killToStart: self.cut(0..<self.cursor)
        case .killWord: self.cut(self.wordStart..<self.cursor)
        case .up: self.look(-1)
        case .down: self.look(1)
        case .backspace, .delete, .endOfInput, .redraw, .accept, .decline, .order: break
        }
        return .edited
    }

    private mutating func cut(_ range: Range<Int>) {
        self.put(String(self.text[..<range.lowerBound]), String(self.text[range.upperBound...]))
    }

    /// Joins what stands before the cursor with what stands behind it. The scalars of one emoji may come one by one, and what is
    /// cut may bring others together: the line is read anew, and the cursor does not stand inside a character.
    private mutating func put(_ before: String, _ after: String) {
        self.text = Array(before + after)
        let bytes = before.utf8.count
        var (cursor, passed) = (0, 0)
        while passed < bytes {
            passed += self.text[cursor].utf8.count
            cursor += 1
        }
        self.cursor = cursor
    }

    private var wordStart: Int {
        var start = self.cursor
        while start > 0, self.text[start - 1] == " " { start -= 1 }
        while start > 0, self.text[start - 1] != " " { start -= 1 }
        return start
    }

    private mutating func enter() -> Outcome {
        let line = self.text
        self.replace(with: [])
        if !line.isEmpty, self.history.last != line {
            self.history.append(line)
            if self.history.count > Self.historyMax { self.history.removeFirst() }
        }
        self.position = self.history.count
        return .entered(String(line))
    }

    private mutating func look(_ step: Int) {
        let next = self.position + step
        guard (0...self.history.count).contains(next) else { return }
        if self.position == self.history.count { self.unfinished = self.text }
        self.position = next
        self.replace(with: next == self.history.count ? self.unfinished : self.history[next])
    }

    /// The line is this now.
    mutating func set(_ text: String) { self.replace(with: Array(text)) }

    private mutating func replace(with text: [Character]) {
        self.text = text
        self.cursor = text.count
    }

    /// The part of the line that fits, before the cursor and behind it.
    func window(width: Int) -> (before: String, after: String) {
        func columns(_ characters: some Sequence<Character>) -> Int { characters.reduce(0) { $0 + Self.columns($1) } }
        var start = 0
        while start < self.cursor, columns(self.text[start..<self.cursor]) >= width { start += 1 }
        var (before, after) = ("", "")
        var used = 0
        for (place, character) in self.text.enumerated().dropFirst(start) {
            let more = Self.columns(character)
            guard used + more <= width else { break }
            let shown: Character = character == "\n" ? "⏎" : character
            if place < self.cursor { before.append(shown) } else { after.append(shown) }
            used += more
        }
        return (before, after)
    }

    private static func columns(_ character: Character) -> Int { character == "\n" ? 1 : TextWidth.columns(character) }
}
