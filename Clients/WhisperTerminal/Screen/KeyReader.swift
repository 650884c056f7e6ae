import TerminalText

/// Text or a command from the keyboard.
enum Key: Equatable {
    case text(String)
    case enter, backspace, delete, left, right, wordLeft, wordRight, home, end, up, down
    case killToEnd, killToStart, killWord
    /// Ctrl-C and Ctrl-D.
    case interrupt, endOfInput
    case redraw
    /// Ctrl-Y, Ctrl-X and Ctrl-O.
    case accept, decline, order
}

/// Turns the bytes of a terminal in raw mode into keys. Sequences and characters may arrive in pieces.
struct KeyReader {
    private var bytes: [UInt8] = []
    private var isPasting = false

    /// More than this without an end is no sequence.
    private static let sequenceBytesMax = 16
    private static let pasteEnd = Array("\u{1B}[201~".utf8)

    mutating func read(_ more: [UInt8]) -> [Key] {
        self.bytes += more
        var keys: [Key] = []
        while let (key, length) = self.next() {
            self.bytes.removeFirst(length)
            if let key { keys.append(key) }
        }
        return keys
    }

    /// - Returns: `nil` if more bytes are needed; a length without key for what means nothing here.
    private mutating func next() -> (Key?, Int)? {
        guard let byte = self.bytes.first else { return nil }
        if self.isPasting { return self.paste() }
        switch byte {
        case 0x0D, 0x0A: return (.enter, 1)
        case 0x7F, 0x08: return (.backspace, 1)
        case 0x01: return (.home, 1)
        case 0x05: return (.end, 1)
        case 0x02: return (.left, 1)
        case 0x06: return (.right, 1)
        case 0x10: return (.up, 1)
        case 0x0E: return (.down, 1)
        case 0x03: return (.interrupt, 1)
        case 0x04: return (.endOfInput, 1)
        case 0x0B: return (.killToEnd, 1)
        case 0x15: return (.killToStart, 1)
        case 0x17: return (.killWord, 1)
        case 0x0C: return (.redraw, 1)
        case 0x19: return (.accept, 1)
        case 0x18: return (.decline, 1)
        case 0x0F: return (.order, 1)
        case 0x09: return (.text(" "), 1)
        case 0x1B: return self.escape()
        case 0..<0x20: return (nil, 1)
        default: return self.character(byte)
        }
    }

    private func character(_ byte: UInt8) -> (Key?, Int)? {
        let length = byte < 0x80 ? 1 : byte < 0xC0 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4
        guard self.bytes.count >= length else { return nil }
        guard let text = String(validating: self.bytes[..<length], as: UTF8.self) else { return (nil, 1) }
        return (.text(text), length)
    }

    private mutating func escape() -> (Key?, Int)? {
        guard self.bytes.count >= 2 else { return nil }
        switch self.bytes[1] {
        case UInt8(ascii: "b"): return (.wordLeft, 2)
        case UInt8(ascii: "f"): return (.wordRight, 2)
        case UInt8(ascii: "["), UInt8(ascii: "O"): break
        default: return (nil, 1)
        }
        guard let end = self.bytes.dropFirst(2).firstIndex(where: { (0x40...0x7E).contains($0) }) else {
            return self.bytes.count > Self.sequenceBytesMax ? (nil, 1) : nil
        }
        let length = end + 1
        let key: Key?
        switch String(decoding: self.bytes[2..<length], as: UTF8.self) {
        case "A": key = .up
        case "B": key = .down
        case "C": key = .right
        case "D": key = .left
        case "1;5C", "1;3C": key = .wordRight
        case "1;5D", "1;3D": key = .wordLeft
        case "H", "1~", "7~": key = .home
        case "F", "4~", "8~": key = .end
        case "3~": key = .delete
        case "200~":
            self.isPasting = true
            key = nil
        default: key = nil
        }
        return (key, length)
    }

    /// A paste is text, whatever is in it: its line feeds send nothing.
    private mutating func paste() -> (Key?, Int)? {
        guard let end = self.bytes.firstRange(of: Self.pasteEnd) else { return nil }
        self.isPasting = false
        let text = String(decoding: self.bytes[..<end.lowerBound], as: UTF8.self)
            .replacing("\r\n", with: "\n").replacing("\r", with: "\n")
        return (.text(harmless(text)), end.upperBound)
    }
}
