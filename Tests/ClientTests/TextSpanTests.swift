import TestKit
import Testing

@testable import WhisperCore

@Suite struct TextSpanTests {
    /// Spans as `format(text)`, and plain text as it is.
    private func shown(_ text: String) -> String {
        TextSpan.spans(of: Array(text.utf8)).map { span in
            span.format.map { "\($0.rawValue)(\(span.text))" } ?? span.text
        }.joined(separator: "|")
    }

    @Test(arguments: [
        ("", ""), ("plain", "plain"), ("*a*", "bold(a)"), ("a *b c* d", "a |bold(b c)| d"),
        ("_i_ ~s~ `c`", "italic(i)| |struck(s)| |code(c)"), ("(*b*), `x`!", "(|bold(b)|), |code(x)|!"),
        // No span: nothing in it, spaces at its edges, within words, or over two lines.
        ("**", "**"), ("* a*", "* a*"), ("*a *", "*a *"), ("2*3*4", "2*3*4"), ("snake_case_name", "snake_case_name"),
        ("*a\nb*", "*a\nb*"), ("**a**", "*|bold(a)|*"), ("*a", "*a"), ("é*a*", "é*a*"),
        ("*a* b*", "bold(a)| b*"), ("*a\n*b*", "*a\n|bold(b)"), ("`*a*`", "code(*a*)"), ("*é日本*", "bold(é日本)"),
        ("see https://a.example/b_c_d?e=*f*.", "see |link(https://a.example/b_c_d?e=*f)|*."),
        ("(http://a) x", "(|link(http://a)|) x"), ("https://", "https://"), ("xhttps://a", "xhttps://a"),
        ("*https://a*", "bold(https://a)"),
        ("/msg bob *hi*", "command(/msg)| bob |bold(hi)"), ("/help", "command(/help)"), ("/", "/"),
        ("/home/ann", "/home/ann"), (" /msg", " /msg"), ("/Msg", "/Msg"),
    ])
    func aTextIsTakenApart(_ text: String, _ spans: String) {
        #expect(self.shown(text) == spans)
    }

    /// Nothing is lost but marks, and nothing comes twice.
    @Test(arguments: 0..<200) func nothingIsLost(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let pieces = ["*", "_", "~", "`", " ", "a", "b", "\n", "é", "/", "http://", "https://x", ".", "*a*", "日"]
        let text = (0..<60).map { _ in pieces.randomElement(using: &random)! }.joined()
        var rest = Array(text.utf8)[...]
        for span in TextSpan.spans(of: Array(text.utf8)) {
            let isMarked = span.format.map { ![.link, .command].contains($0) } ?? false
            if isMarked { rest.removeFirst() }
            #expect(rest.starts(with: span.text.utf8), "\(text)")
            rest.removeFirst(min(span.text.utf8.count, rest.count))
            if isMarked { rest.removeFirst() }
            #expect(!span.text.isEmpty && !(isMarked && span.text.contains("\n")))
        }
        #expect(rest.isEmpty)
    }

    @Test func theAnswerIsJSON() throws {
        let answer = try JSON(parsing: TextSpan.answer(Array("a *\"b\"*".utf8)))["result"]
        #expect(answer?["type"]?.string == "text")
        let spans = answer?["spans"]?.elements ?? []
        #expect(spans.map { $0["text"]?.string } == ["a ", "\"b\""])
        #expect(spans.map { $0["format"]?.string } == [nil, "bold"])
        #expect { _ = try TextSpan.answer([0xC3, 0x28]) } throws: { ($0 as? CoreError)?.code == .invalidCommand }
    }
}
