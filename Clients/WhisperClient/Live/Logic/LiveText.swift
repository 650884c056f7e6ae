import Contract

/// Text of one line, as the Unicode scalars that offsets count (contract §14.9): no line ends, no control characters
/// but tab, at most 8,000 bytes.
package struct LiveText: Hashable, Sendable {
    package private(set) var scalars: [Unicode.Scalar] = []
    /// Its length in JSON with the shortest escapes (contract §19.7).
    package private(set) var jsonBytes = 0

    package init() {}

    /// Text as received.
    /// - Returns: `nil` if it cannot be live text.
    package init?(_ text: some StringProtocol) {
        for scalar in text.unicodeScalars {
            guard Self.isAllowed(scalar), self.append(scalar) else { return nil }
        }
    }

    package var count: Int { self.scalars.count }
    package var isEmpty: Bool { self.scalars.isEmpty }

    package var string: String {
        var string = String.UnicodeScalarView()
        string.append(contentsOf: self.scalars)
        return String(string)
    }

    /// - Returns: whether there was room.
    mutating func append(_ scalar: Unicode.Scalar) -> Bool {
        let bytes = Self.jsonBytes(of: scalar)
        guard self.jsonBytes + bytes <= LiveLimits.textBytesMax else { return false }
        self.scalars.append(scalar)
        self.jsonBytes += bytes
        return true
    }

    /// The first scalars of the text.
    func prefix(_ count: Int) -> LiveText {
        var text = LiveText()
        for scalar in self.scalars.prefix(count) { _ = text.append(scalar) }
        return text
    }

    package static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "\t": true
        case "\u{2028}", "\u{2029}": false
        default: scalar.properties.generalCategory != .control
        }
    }

    private static func jsonBytes(of scalar: Unicode.Scalar) -> Int {
        switch scalar {
        case "\"", "\\", "\t": 2
        default: UTF8.width(scalar)
        }
    }
}

/// One step of a `diff`: the first `offset` scalars stay, and the text follows them (contract §14.9).
package struct TextEdit: Hashable, Sendable {
    package var offset: Int
    package var text: LiveText

    package init(offset: Int, text: LiveText) {
        self.offset = offset
        self.text = text
    }
}

extension LiveText {
    /// The edit that replaces everything from the first different scalar on.
    /// - Returns: `nil` for equal texts: nothing is sent.
    package func edit(from old: LiveText) -> TextEdit? {
        let same = zip(self.scalars, old.scalars).prefix { $0 == $1 }.count
        guard same < max(self.count, old.count) else { return nil }
        var text = LiveText()
        for scalar in self.scalars[same...] { _ = text.append(scalar) }
        return TextEdit(offset: same, text: text)
    }

    /// - Returns: `nil` if an offset is beyond the end, or the text becomes too long.
    package func applying(_ edits: [TextEdit]) -> LiveText? {
        var text = self
        for edit in edits {
            guard (0...text.count).contains(edit.offset) else { return nil }
            if edit.offset < text.count { text = text.prefix(edit.offset) }
            for scalar in edit.text.scalars {
                guard text.append(scalar) else { return nil }
            }
        }
        return text
    }
}

/// Input of any kind, made fit for a conversation (contract §14.9, §19.7).
package enum TypedText {
    /// A line end completes a line, and so does text beyond a line's limit. Control characters are removed.
    /// - Returns: the completed lines, and the unfinished rest.
    package static func split(_ input: String) -> (lines: [LiveText], rest: LiveText) {
        var lines: [LiveText] = []
        var rest = LiveText()
        var followsCR = false
        for scalar in input.unicodeScalars {
            defer { followsCR = scalar == "\r" }
            switch scalar {
            case "\n" where followsCR: break
            case "\n", "\r", "\u{2028}", "\u{2029}":
                lines.append(rest)
                rest = LiveText()
            case _ where LiveText.isAllowed(scalar):
                if rest.append(scalar) { break }
                lines.append(rest)
                rest = LiveText()
                _ = rest.append(scalar)
            default: break
            }
        }
        return (lines, rest)
    }
}
