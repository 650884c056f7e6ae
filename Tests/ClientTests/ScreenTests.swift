import Contract
import Foundation
import TestKit
import Testing

@testable import WhisperClient
@testable import WhisperCore
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
        #expect(self.editor.window(width: 5) == ("6789", ""))
        self.type(.home)
        #expect(self.editor.window(width: 5) == ("", "01234"))
    }

    /// A terminal sends the scalars of one picture one by one. It goes with one press, as it is one on the screen.
    @Test(arguments: [
        "👍🏽", "👩‍👩‍👧", "🏳️‍🌈", "🇨🇭", "1️⃣", "❤️", "👨🏿‍🚀", "🏴󠁧󠁢󠁳󠁣󠁴󠁿", "e\u{301}", "각", "क्षि",
    ])
    func onePressTakesOneCharacter(text: String) {
        for (before, after) in [("", ""), ("a", "b"), ("🇨🇭", "")] {
            var editor = LineEditor()
            for scalar in (before + after).unicodeScalars { _ = editor.handle(.text(String(scalar))) }
            for _ in after { _ = editor.handle(.left) }
            for scalar in text.unicodeScalars { _ = editor.handle(.text(String(scalar))) }
            #expect(String(editor.text) == before + text + after)
            #expect(editor.window(width: 40) == (before + text, after))
            _ = editor.handle(.backspace)
            #expect(String(editor.text) == before + after && editor.window(width: 40) == (before, after))
        }
    }

    @Test(arguments: Prove.seeds(0..<100))
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
            #expect(TextWidth.columns(window.before + window.after) <= 7 && TextWidth.columns(window.before) < 7)
        }
    }
}

@Suite struct TextWidthTests {
    @Test func widthsAreThoseOfATerminal() {
        #expect(TextWidth.columns("abc") == 3)
        #expect(TextWidth.columns("日本") == 4)
        #expect(TextWidth.columns("e\u{301}") == 1)
        for picture in ["👍🏽", "👩‍👩‍👧", "🇨🇭", "1️⃣", "❤️", "각"] { #expect(TextWidth.columns(picture) == 2, "\(picture)") }
        #expect(TextWidth.columns("❤") == 1)
    }

    @Test(arguments: [
        ("one two three", ["one two", "three"]), ("", [""]), ("a\n\nb", ["a", "", "b"]),
        ("abcdefghijklmnop", ["abcdefgh", "ijklmnop"]), ("日本日本日本", ["日本日本", "日本"]),
    ])
    func textIsBrokenAtSpaces(text: String, rows: [String]) {
        #expect(TextWidth.wrapped(text, width: 8) == rows)
    }

    @Test(arguments: Prove.seeds(0..<100))
    func noRowIsTooWideAndNothingIsLost(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let text = String((0..<200).map { _ in Array("abc 日👍é  x").randomElement(using: &random)! })
        let rows = TextWidth.wrapped(text, width: 11)
        for row in rows { #expect(TextWidth.columns(row) <= 11) }
        #expect(rows.joined().filter { $0 != " " } == text.filter { $0 != " " })
    }
}

@Suite struct ChatScreenTests {
    let key = MessageKey(
        Message(
            id: .random(), peer: bobID, groupID: nil, direction: .outgoing(.queued), content: .text("mine"),
            time: Timestamp(milliseconds: 1)))

    @Test func aMarkIsChangedWhereItStands() {
        var screen = ChatScreen(width: 40, height: 10)
        let editor = LineEditor()
        _ = screen.add(ChatScreen.Line(key: self.key, mark: "◌", text: "mine"), editor)
        _ = screen.add(ChatScreen.Line(text: "two\nrows"), editor)
        #expect(screen.mark(self.key, "✓", editor).hasPrefix("\r\u{1B}[3A✓  \r\u{1B}[3B"))
    }

    /// A deleted text does not stay on the screen.
    @Test func aTextIsDrawnAnewWhereItStands() {
        var screen = ChatScreen(width: 40, height: 10)
        let editor = LineEditor()
        _ = screen.add(ChatScreen.Line(key: self.key, text: "a secret"), editor)
        _ = screen.add(ChatScreen.Line(text: "below"), editor)
        let (bytes, isSeen) = screen.change(self.key, to: "(deleted)", editor)
        #expect(isSeen && bytes.hasPrefix("\r\u{1B}[2A   (deleted)\u{1B}[K\r\n   below\u{1B}[K\r\n\u{1B}[J"))
        #expect(!screen.resize(width: 40, height: 10, editor).contains("secret"))
        // It has scrolled away: what can be reached is drawn, and the person is told otherwise.
        for _ in 0..<12 { _ = screen.add(ChatScreen.Line(text: "x"), editor) }
        #expect(screen.change(self.key, to: "again", editor).isSeen == false)
        #expect(screen.change(self.key, to: "again", editor).bytes == "")
    }

    /// A message that has disappeared leaves the screen, and so does its text in an answer.
    @Test func aLineIsTakenAwayWithWhatQuotesIt() {
        var screen = ChatScreen(width: 40, height: 10)
        let editor = LineEditor()
        _ = screen.add(ChatScreen.Line(text: "above"), editor)
        _ = screen.add(ChatScreen.Line(key: self.key, text: "a secret"), editor)
        _ = screen.add(ChatScreen.Line(text: "↪ a secret: yes"), editor)
        let (bytes, isSeen) = screen.change(editor) { line in
            line.key == self.key ? nil : line.text.replacing("a secret", with: "an earlier message")
        }
        #expect(isSeen && bytes.hasPrefix("\r\u{1B}[2A   ↪ an earlier message: yes\u{1B}[K\r\n\u{1B}[J"))
        let anew = screen.resize(width: 40, height: 10, editor)
        #expect(anew.contains("above") && !anew.contains("secret") && !screen.contains(self.key))
        #expect(screen.change(editor) { $0.text } == ("", true))
    }

    /// Terminals find a link, and copy it, when nothing stands inside.
    @Test func aLinkIsAloneUnindentedAndUnbroken() {
        var screen = ChatScreen(width: 80, height: 10)
        let link = "https://chat.example/listen/" + String(repeating: "0123456789", count: 14)
        let bytes = screen.add(ChatScreen.Line(text: link, isWhole: true), LineEditor())
        #expect(bytes.hasPrefix("\r\(link)\u{1B}[K\r\n"))
        #expect(screen.resize(width: 90, height: 10, LineEditor()).contains("\u{1B}[H\u{1B}[2J\(link)\u{1B}[K\r\n"))
    }

    @Test func whatHasScrolledAwayIsLeftAlone() {
        var screen = ChatScreen(width: 40, height: 5)
        let editor = LineEditor()
        _ = screen.add(ChatScreen.Line(key: self.key, mark: "◌", text: "mine"), editor)
        for _ in 0..<4 { _ = screen.add(ChatScreen.Line(text: "x"), editor) }
        #expect(screen.mark(self.key, "✓", editor) == "")
        // The new mark is there when everything is drawn again.
        #expect(screen.resize(width: 40, height: 10, editor).contains("✓  mine"))
    }
}

@Suite struct StyleTests {
    /// States are told apart without colours, and by words where signs mean nothing.
    @Test func eachStateHasItsOwnSignAndWord() {
        let states: [MessageState] = [.queued, .sending, .sent, .delivered, .read, .failed(.rejected), .expired]
        let (bare, plain) = (Style(isOn: false), Style(isOn: false, isPlain: true))
        #expect(Set(states.map { mark($0, bare) }).count == states.count)
        #expect(
            states.map { mark($0, plain) } == [
                "(queued)", "(sending)", "(sent)", "(delivered)", "(read)", "(not sent)", "(expired)",
            ])
        for state in states { #expect(TextWidth.columns(mark(state, bare)) < ChatScreen.markColumns) }
    }

    @Test(arguments: [
        ("● online", "online"), ("✉ Ann wrote to you", "Ann wrote to you"), ("? A request", "A request"),
        ("14:03 Ann: ↪ “noon”: yes", "14:03 Ann: answers “noon”: yes"), ("-", "-"), ("", ""), ("?!", "?!"),
    ])
    func signsAreLeftOutOfPlainLines(line: String, words: String) {
        #expect(Style(isOn: false, isPlain: true).worded(line) == words)
        #expect(Style(isOn: false).worded(line) == line)
    }

    /// Yesterday evening is not this morning.
    @Test func aTimeOfAnotherDayHasItsDate() {
        let now = Timestamp.now
        let yesterday = Timestamp(milliseconds: now.milliseconds - 86_400_000)
        #expect(clock(now) == timeOfDay(now))
        #expect(clock(yesterday) == "\(day(yesterday)) \(timeOfDay(yesterday))")
    }
}

/// A command that does not get the profile says who has it.
@Suite struct ProfileInUseTests {
    @Test(arguments: [(["daemon", "--profile", "ann"], "A daemon"), (["chat", "ann"], "Another whisper")])
    func theProcessIsNamed(words: [String], name: String) throws {
        let folder = try TemporaryFolder()
        // It lasts as long as its input, and is itself when it has written its number.
        let program = "exec /bin/sh -c 'echo $$ >\(folder.path)/pid; read line' \(words.joined(separator: " "))"
        let input = try #require(popen(program, "we"))
        var number = ""
        while !number.hasSuffix("\n") {
            sched_yield()
            number = (try? String(contentsOfFile: folder.path + "/pid", encoding: .utf8)) ?? ""
        }
        let pid = try #require(Int(number.dropLast()))
        let options = try ProfileOptions.parse(["--profile", "ann"])
        let said = [options.problem(ProfileError.inUse(by: pid)), options.problem(CoreError.locked(by: pid))]
        pclose(input)
        for problem in said { #expect("\(problem)".hasPrefix("\(name) (process \(pid)) is using the profile \"ann\"")) }
        #expect("\(options.problem(ProfileError.inUse(by: nil)))".hasPrefix("Another whisper is using"))
    }
}

extension CoreError {
    fileprivate static func locked(by pid: Int) -> CoreError {
        var error = CoreError(.locked)
        error.pid = pid
        return error
    }
}
