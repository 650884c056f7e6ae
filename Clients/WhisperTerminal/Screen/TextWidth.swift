/// How many columns text takes in a terminal, and where it is broken into rows.
enum TextWidth {
    static func columns(_ text: some StringProtocol) -> Int {
        text.reduce(0) { $0 + Self.columns($1) }
    }

    /// A grapheme cluster takes one cell or two, however many scalars it has.
    static func columns(_ character: Character) -> Int {
        let scalars = character.unicodeScalars
        guard let first = scalars.first else { return 0 }
        // Most of what people write.
        if first.value < 0x300, scalars.count == 1 { return 1 }
        // An emoji is one picture, also with a skin, as a flag, or as a family.
        if scalars.contains(where: { $0.value == 0xFE0F || $0.properties.isEmojiPresentation }) { return 2 }
        return scalars.reduce(0) { $0 + Self.columns($1) }
    }

    private static func columns(_ scalar: Unicode.Scalar) -> Int {
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return 0
        default: break
        }
        // Vowels and finals of Hangul stand in the cells of their consonant.
        if (0x1160...0x11FF).contains(scalar.value) { return 0 }
        return Self.wide.contains { $0.contains(scalar.value) } ? 2 : 1
    }

    /// East Asian scripts and forms that take two columns.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF, 0xA000...0xA4CF,
        0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x20000...0x3FFFD,
    ]

    /// Breaks text into rows of at most `width` columns, at spaces where there are some.
    static func wrapped(_ text: String, width: Int) -> [String] {
        text.split(separator: "\n", omittingEmptySubsequences: false).flatMap {
            Self.wrapped(line: $0, width: max(width, 4))
        }
    }

    private static func wrapped(line: Substring, width: Int) -> [String] {
        var rows: [String] = []
        var row = ""
        var columns = 0
        for (position, word) in line.split(separator: " ", omittingEmptySubsequences: false).enumerated() {
            if position > 0 {
                let needed = Self.columns(word)
                if columns + 1 + needed <= width || columns < width && needed > width {
                    row += " "
                    columns += 1
                } else {
                    rows.append(row)
                    (row, columns) = ("", 0)
                }
            }
            for character in word {
                let more = Self.columns(character)
                if columns + more > width {
                    rows.append(row)
                    (row, columns) = ("", 0)
                }
                row.append(character)
                columns += more
            }
        }
        return rows + [row]
    }

    /// Cuts text where a terminal of this width does, wherever that is. Text without line feeds.
    static func pieces(of text: String, width: Int) -> [String] {
        var pieces = [""]
        var columns = 0
        for character in text {
            let more = Self.columns(character)
            if columns + more > width {
                pieces.append("")
                columns = 0
            }
            pieces[pieces.count - 1].append(character)
            columns += more
        }
        return pieces
    }
}
