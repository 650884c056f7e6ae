/// Scripts and styles as browsers get them: a third smaller, without comments and most spaces.
///
/// It works line by line, and removes only comments that fill whole lines. In the sources no text goes over several lines, and
/// each statement ends with a semicolon or a brace. No loop has an empty body.
package enum PlainSource {
    /// A script. Quoted text is not changed, nor is a line with a slash outside quotes: a comment or a regular expression.
    /// Private members get short names: nothing outside the file can name them.
    package static func bare(_ source: [UInt8]) -> [UInt8] {
        var names: [ArraySlice<UInt8>: [UInt8]] = [:]
        let lines = self.lines(of: source).map { line in
            self.tight(self.shortened(line, &names)[...], before: self.signs, after: self.signs)
        }
        return self.joined(lines)
    }

    package static func bareStyle(_ source: [UInt8]) -> [UInt8] {
        // A space before a colon joins two selectors.
        let (before, after) = (Array("{}".utf8), Array("{:;,".utf8))
        return self.joined(self.lines(of: source).map { self.tight($0, before: before, after: after) })
    }

    /// Without comments, indentation and empty lines.
    private static func lines(of source: [UInt8]) -> [ArraySlice<UInt8>] {
        var isComment = false
        return source.split(separator: UInt8(ascii: "\n")).compactMap { line in
            let bare = line.drop { $0 == UInt8(ascii: " ") }
            let opens = bare.starts(with: "/*".utf8)
            if isComment || opens {
                isComment = !bare.reversed().starts(with: "/*".utf8)
                return nil
            }
            return bare.isEmpty || bare.starts(with: "//".utf8) ? nil : bare
        }
    }

    /// - Parameter lines: `isOpen` says that the next line may follow without a line end, if the text ends with an opening or a
    ///   separator.
    private static func joined(_ lines: [(text: [UInt8], isOpen: Bool)]) -> [UInt8] {
        var bytes: [UInt8] = []
        for (index, line) in lines.enumerated() {
            bytes += line.text
            // No statement needs its semicolon before a brace.
            if line.isOpen, bytes.last == UInt8(ascii: ";"), index < lines.count - 1,
                lines[index + 1].text.first == UInt8(ascii: "}")
            {
                bytes.removeLast()
                continue
            }
            let goesOn =
                line.isOpen
                && (line.text.last.map { "{;,([".utf8.contains($0) } ?? true || line.text == Array("}".utf8))
            if !goesOn, index < lines.count - 1 { bytes.append(UInt8(ascii: "\n")) }
        }
        return bytes
    }

    /// Signs that need no space at either side. `+` and `-` are not among them: `a - -b` is not `a--b`.
    private static let signs = Array("=<>!&|?:,;{}()[]".utf8)

    /// Text before the `#` of a private member, unless the line begins with it: `this.`, or a declaration.
    private static let heralds = [".", "get ", "set ", "async ", "static "].map { Array($0.utf8) }

    private static func shortened(
        _ line: ArraySlice<UInt8>, _ names: inout [ArraySlice<UInt8>: [UInt8]]
    ) -> [UInt8] {
        var short: [UInt8] = []
        var rest = line
        while let byte = rest.popFirst() {
            short.append(byte)
            guard byte == UInt8(ascii: "#") else { continue }
            let name = rest.prefix {
                "a"..."z" ~= Character(UnicodeScalar($0)) || "A"..."Z" ~= Character(UnicodeScalar($0))
            }
            let before = short.dropLast()
            guard !name.isEmpty,
                before.isEmpty || self.heralds.contains(where: { before.suffix($0.count).elementsEqual($0) })
            else { continue }
            short += names[name] ?? self.name(names.count)
            names[name] = names[name] ?? self.name(names.count)
            rest = rest.dropFirst(name.count)
        }
        return short
    }

    /// a, b … z, aa, ab …
    private static func name(_ number: Int) -> [UInt8] {
        let letter = UInt8(ascii: "a") + UInt8(number % 26)
        return number < 26 ? [letter] : self.name(number / 26 - 1) + [letter]
    }

    private static func tight(
        _ line: ArraySlice<UInt8>, before: [UInt8], after: [UInt8]
    ) -> (text: [UInt8], isOpen: Bool) {
        // A template may contain another one: such a line is not changed.
        guard line.count(where: { $0 == UInt8(ascii: "`") }) <= 2 else { return (Array(line), false) }
        var (text, code): ([UInt8], ArraySlice<UInt8>) = ([], [])
        var quote: UInt8?
        var isEscaped = false
        for byte in line {
            if let open = quote {
                text.append(byte)
                if !isEscaped, byte == open { quote = nil }
                isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
            } else if "\"'`".utf8.contains(byte) {
                text += self.withoutSpaces(code, before: before, after: after)
                code = []
                // No word needs a space at a quote, on either side.
                while text.last == UInt8(ascii: " ") { text.removeLast() }
                text.append(byte)
                quote = byte
            } else if byte == UInt8(ascii: "/") {
                return (Array(line), false)
            } else if byte != UInt8(ascii: " ") || !code.isEmpty || !"\"'`".utf8.contains(text.last ?? 0) {
                code.append(byte)
            }
        }
        return (text + self.withoutSpaces(code, before: before, after: after), quote == nil)
    }

    private static func withoutSpaces(
        _ code: ArraySlice<UInt8>, before: [UInt8], after: [UInt8]
    ) -> [UInt8] {
        var tight: [UInt8] = []
        for byte in code {
            if byte == UInt8(ascii: " "), let last = tight.last, after.contains(last) { continue }
            if before.contains(byte) {
                while tight.last == UInt8(ascii: " ") { tight.removeLast() }
            }
            tight.append(byte)
            if byte == UInt8(ascii: ">") { self.bareParameter(&tight) }
        }
        return tight
    }

    /// `(a)=>` at the end becomes `a=>`.
    private static func bareParameter(_ code: inout [UInt8]) {
        guard code.suffix(3).elementsEqual(")=>".utf8) else { return }
        func isName(_ byte: UInt8) -> Bool { Character(UnicodeScalar(byte)).isLetter }
        let name = code.dropLast(3).reversed().prefix(while: isName)
        let open = code.count - 4 - name.count
        guard !name.isEmpty, open > 0, code[open] == UInt8(ascii: "("), !isName(code[open - 1]) else { return }
        code.remove(at: code.count - 3)
        code.remove(at: open)
    }
}
