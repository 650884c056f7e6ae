import Contract
import Testing
import TestKit

@testable import WhisperTerminal

@Suite struct KeyReaderTests {
    private func keys(_ text: String) -> [Key] {
        var reader = KeyReader()
        return reader.read(Array(text.utf8))
    }

    @Test func keysAreRead() {
        #expect(self.keys("aß\r") == [.text("a"), .text("ß"), .enter])
        #expect(
            self.keys("\u{1B}[A\u{1B}[3~\u{1B}OH\u{1B}[1;5D\u{7F}\u{03}\u{04}") == [
                .up, .delete, .home, .wordLeft, .backspace, .interrupt, .endOfInput,
            ])
    }

    @Test func aPasteSendsNothingAndCommandsNothing() {
        #expect(
            self.keys("\u{1B}[200~two\r\nlines\u{1B}[31m\u{1B}[201~x") == [.text("two\nlines\u{FFFD}[31m"), .text("x")])
    }

    /// Bytes may be cut anywhere.
    @Test(arguments: UInt64(0)..<50)
    func piecesGiveTheSameKeys(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let text = "héllo 日本\u{1B}[C\u{1B}[200~pa\nste\u{1B}[201~👍\u{1B}[3~\r"
        var bytes = Array(text.utf8)[...]
        var reader = KeyReader()
        var keys: [Key] = []
        while !bytes.isEmpty {
            let piece = bytes.prefix(Int.random(in: 1...4, using: &random))
            bytes = bytes.dropFirst(piece.count)
            keys += reader.read(Array(piece))
        }
        #expect(keys == self.keys(text))
    }

    @Test func bytesThatAreNoTextAreSkipped() {
        var reader = KeyReader()
        #expect(
            reader.read([0xFF, 0x80, UInt8(ascii: "a"), 0xC3, 0x28, UInt8(ascii: "b")]) == [
                .text("a"), .text("("), .text("b"),
            ])
    }
}

@Suite struct LineEditorTests {
    var editor = LineEditor()

    private mutating func type(_ keys: Key...) { for key in keys { _ = self.editor.handle(key) } }

    @Test mutating func aLineIsWrittenAndEntered() {
        self.type(.text("hllo"), .home, .right, .text("e"), .end, .text(" you"), .killWord, .text("all"))
        #expect(self.editor.handle(.enter) == .entered("hello all"))
        #expect(self.editor.text.isEmpty)
        self.type(.text("new"), .up)
        #expect(String(self.editor.text) == "hello all")
        self.type(.down)
        #expect(String(self.editor.text) == "new")
    }

    @Test mutating func leavingNeedsAnEmptyLine() {
        self.type(.text("x"))
        #expect(self.editor.handle(.endOfInput) == .edited)
        #expect(self.editor.handle(.interrupt) == .edited)
        #expect(self.editor.handle(.interrupt) == .leave)
        #expect(self.editor.handle(.endOfInput) == .leave)
    }

    @Test mutating func aLongLineScrollsWithTheCursor() {
        self.type(.text("0123456789"))
        #expect(self.editor.window(width: 5) == ("6789", 4))
        self.type(.home)
        #expect(self.editor.window(width: 5) == ("01234", 0))
    }

    @Test(arguments: UInt64(0)..<100)
    func theCursorStaysInTheLine(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var editor = LineEditor()
        let keys: [Key] = [
            .text("a b"), .text("日"), .enter, .backspace, .delete, .left, .right, .wordLeft, .wordRight, .home, .end,
            .up, .down,
            .killToEnd, .killToStart, .killWord, .interrupt, .endOfInput,
        ]
        for _ in 0..<300 {
            _ = editor.handle(keys.randomElement(using: &random)!)
            #expect((0...editor.text.count).contains(editor.cursor))
            let window = editor.window(width: 7)
            #expect(TextWidth.columns(window.shown) <= 7 && window.cursor < 7)
        }
    }
}

@Suite struct TextWidthTests {
    @Test func widthsAreThoseOfATerminal() {
        #expect(TextWidth.columns("abc") == 3)
        #expect(TextWidth.columns("日本") == 4)
        #expect(TextWidth.columns("e\u{301}") == 1)
        #expect(TextWidth.columns("👍🏽") == 2)
    }

    @Test(arguments: [
        ("one two three", ["one two", "three"]), ("", [""]), ("a\n\nb", ["a", "", "b"]),
        ("abcdefghijklmnop", ["abcdefgh", "ijklmnop"]), ("日本日本日本", ["日本日本", "日本"]),
    ])
    func textIsBrokenAtSpaces(text: String, rows: [String]) {
        #expect(TextWidth.wrapped(text, width: 8) == rows)
    }

    @Test(arguments: UInt64(0)..<100)
    func noRowIsTooWideAndNothingIsLost(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let text = String((0..<200).map { _ in Array("abc 日👍é  x").randomElement(using: &random)! })
        let rows = TextWidth.wrapped(text, width: 11)
        for row in rows { #expect(TextWidth.columns(row) <= 11) }
        #expect(rows.joined().filter { $0 != " " } == text.filter { $0 != " " })
    }
}

@Suite struct ChatScreenTests {
    let id = UUIDText.random()

    @Test func aMarkIsChangedWhereItStands() {
        var screen = ChatScreen(width: 40, height: 10)
        let editor = LineEditor()
        _ = screen.add(ChatScreen.Line(id: self.id, mark: "◌", text: "mine"), editor)
        _ = screen.add(ChatScreen.Line(text: "two\nrows"), editor)
        #expect(screen.mark(self.id, "✓", editor).hasPrefix("\r\u{1B}[3A✓  \r\u{1B}[3B"))
    }

    @Test func whatHasScrolledAwayIsLeftAlone() {
        var screen = ChatScreen(width: 40, height: 5)
        let editor = LineEditor()
        _ = screen.add(ChatScreen.Line(id: self.id, mark: "◌", text: "mine"), editor)
        for _ in 0..<4 { _ = screen.add(ChatScreen.Line(text: "x"), editor) }
        #expect(screen.mark(self.id, "✓", editor) == "")
        // The new mark is there when everything is drawn again.
        #expect(screen.resize(width: 40, height: 10, editor).contains("✓  mine"))
    }
}
