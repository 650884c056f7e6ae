import Contract

/// A text as apps show it: `*bold*`, `_italic_`, `~struck~`, `` `code` ``, links, and a command at its beginning.
///
/// Spans do not contain others, and do not go beyond a line. Other text is plain. The time is proportional to the text.
package struct TextSpan: Equatable, Sendable {
    package enum Format: String, CaseIterable, Sendable { case bold, italic, struck, code, link, command }

    /// Without its marks.
    package var text: String
    /// `nil` for plain text.
    package var format: Format?

    /// - Returns: the answer; `invalidCommand` if it is no UTF-8.
    package static func answer(_ text: [UInt8]) throws(CoreError) -> [UInt8] {
        guard String(validating: text, as: UTF8.self) != nil else { throw CoreError(.invalidCommand, "is no UTF-8") }
        var result = JSONWriter()
        result.add("type", "text")
        result.add("spans", objects: Self.spans(of: text)) { span, json in
            json.add("text", span.text)
            json.add("format", span.format?.rawValue)
        }
        var json = JSONWriter()
        json.add("result", json: result.finished())
        return json.finished()
    }

    package static func spans(of text: [UInt8]) -> [TextSpan] {
        var reader = SpanReader(text: text)
        return reader.read()
    }
}

private struct SpanReader {
    let text: [UInt8]
    private var spans: [TextSpan] = []
    /// Where the plain text begins that is not a span yet.
    private var plain = 0
    /// For each mark, the place up to which no span ends.
    private var noEndBefore: [UInt8: Int] = [:]

    init(text: [UInt8]) { self.text = text }

    private static let formats: [UInt8: TextSpan.Format] = [
        UInt8(ascii: "*"): .bold, UInt8(ascii: "_"): .italic, UInt8(ascii: "~"): .struck, UInt8(ascii: "`"): .code,
    ]
    private static let schemes = ["https://", "http://"].map { Array($0.utf8) }
    /// Marks that end a sentence, not the link in it.
    private static let marksBehindLinks = Set(".,;:!?'\")]}>*_~`".utf8)

    mutating func read() -> [TextSpan] {
        var place = 0
        if let end = self.command() {
            self.take(0..<end, as: .command, until: end)
            place = end
        }
        while place < self.text.count {
            if let format = Self.formats[self.text[place]], let end = self.end(of: place) {
                self.take(place + 1..<end, as: format, until: end + 1, from: place)
                place = end + 1
            } else if let end = self.link(at: place) {
                self.take(place..<end, as: .link, until: end)
                place = end
            } else {
                place += 1
            }
        }
        self.takePlain(until: self.text.count)
        return self.spans
    }

    private mutating func take(_ span: Range<Int>, as format: TextSpan.Format, until end: Int, from start: Int? = nil) {
        self.takePlain(until: start ?? span.lowerBound)
        self.spans.append(TextSpan(text: String(decoding: self.text[span], as: UTF8.self), format: format))
        self.plain = end
    }

    private mutating func takePlain(until end: Int) {
        guard self.plain < end else { return }
        self.spans.append(TextSpan(text: String(decoding: self.text[self.plain..<end], as: UTF8.self), format: nil))
        self.plain = end
    }

    // MARK: Where spans are

    /// A slash and a word of small letters, digits and `_`.
    private func command() -> Int? {
        guard self.text.first == UInt8(ascii: "/") else { return nil }
        let end = self.text.firstIndex(where: Self.isSpace) ?? self.text.count
        let name = self.text[1..<end]
        let isName = name.allSatisfy { byte in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || byte == UInt8(ascii: "_")
        }
        return isName && !name.isEmpty ? end : nil
    }

    /// Where the span ends that begins with a mark.
    private mutating func end(of start: Int) -> Int? {
        let mark = self.text[start]
        guard start == 0 || !self.isWord(start - 1), start + 1 < self.text.count, !Self.isSpace(self.text[start + 1]),
            self.text[start + 1] != mark, start >= self.noEndBefore[mark] ?? 0
        else { return nil }
        var place = start + 2
        while place < self.text.count, self.text[place] != UInt8(ascii: "\n") {
            let isEnd =
                self.text[place] == mark && !Self.isSpace(self.text[place - 1])
                && (place + 1 == self.text.count || !self.isWord(place + 1))
            if isEnd { return place }
            place += 1
        }
        self.noEndBefore[mark] = place
        return nil
    }

    private func link(at start: Int) -> Int? {
        guard self.text[start] == UInt8(ascii: "h"), start == 0 || !self.isWord(start - 1),
            let scheme = Self.schemes.first(where: { self.text[start...].starts(with: $0) })
        else { return nil }
        var end = self.text[start...].firstIndex(where: Self.isSpace) ?? self.text.count
        while end > start, Self.marksBehindLinks.contains(self.text[end - 1]) { end -= 1 }
        return end > start + scheme.count ? end : nil
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte <= 0x20 || byte == 0x7F }

    /// Letters and digits. All that is not ASCII counts as letters.
    private func isWord(_ place: Int) -> Bool {
        switch self.text[place] {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), 0x80...:
            true
        default: false
        }
    }
}
