import SQLite

/// Breaks texts into the words that the index has, by the rules of FTS5's `unicode61`.
///
/// Chinese, Japanese and Korean are not written in words. Each two neighbouring characters are a word there, so that
/// two are enough to find a text. The last character of a run is a word too, so that a search for it alone finds it.
final class WordTokenizer: FTS5CustomTokenizer {
    static let name = "whisper_words"

    private let words: any FTS5Tokenizer

    init(database: Database) throws {
        self.words = try database.makeTokenizer("unicode61", arguments: ["remove_diacritics", "2"])
    }

    func tokenize(
        context: UnsafeMutableRawPointer?, tokenization: FTS5Tokenization, pText: UnsafePointer<CChar>?, nText: CInt,
        tokenCallback: @escaping FTS5TokenCallback
    ) -> CInt {
        guard let pText, nText > 0 else { return Self.ok }
        let text = UnsafeBufferPointer(start: pText, count: Int(nText))
        var place = 0
        while place < text.count {
            let other = place
            while place < text.count, !Self.isCharacter(text, at: place) { place += Self.bytes(text, at: place) }
            // A text in another script goes on as it is.
            if other == 0, place >= text.count {
                return self.words.tokenize(
                    context: context, tokenization: tokenization, pText: pText, nText: nText,
                    tokenCallback: tokenCallback)
            }
            if other < place {
                let code = self.words(
                    in: other..<min(place, text.count), of: pText, tokenization,
                    Receiver(context: context, callback: tokenCallback, offset: CInt(other)))
                guard code == Self.ok else { return code }
            }
            var run: [Int] = []
            while place < text.count, Self.isCharacter(text, at: place) {
                run.append(place)
                place += Self.bytes(text, at: place)
            }
            guard !run.isEmpty else { continue }
            run.append(place)
            let receiver = Receiver(context: context, callback: tokenCallback, offset: 0)
            let code = Self.pairs(run, of: pText, isQuery: tokenization.contains(.query), receiver)
            guard code == Self.ok else { return code }
        }
        return Self.ok
    }

    private static let ok: CInt = 0

    /// The receiver of the words in a part of the text.
    private struct Receiver {
        var context: UnsafeMutableRawPointer?
        var callback: FTS5TokenCallback
        /// Where the part begins.
        var offset: CInt
    }

    private func words(
        in part: Range<Int>, of text: UnsafePointer<CChar>, _ tokenization: FTS5Tokenization, _ receiver: Receiver
    ) -> CInt {
        var receiver = receiver
        return withUnsafeMutablePointer(to: &receiver) { pointer in
            self.words.tokenize(
                context: pointer, tokenization: tokenization, pText: text + part.lowerBound, nText: CInt(part.count)
            ) { context, flags, word, bytes, start, end in
                guard let receiver = context?.assumingMemoryBound(to: Receiver.self).pointee else { return 1 }
                return receiver.callback(
                    receiver.context, flags, word, bytes, start + receiver.offset, end + receiver.offset)
            }
        }
    }

    /// - Parameter run: where each character begins, and where the last one ends.
    private static func pairs(
        _ run: [Int], of text: UnsafePointer<CChar>, isQuery: Bool, _ receiver: Receiver
    ) -> CInt {
        func tell(_ first: Int, _ end: Int, _ flags: FTS5TokenFlags) -> CInt {
            let (start, end) = (run[first], run[end])
            return receiver.callback(
                receiver.context, flags.rawValue, text + start, CInt(end - start), CInt(start), CInt(end))
        }
        let count = run.count - 1
        guard count > 1 else { return tell(0, 1, []) }
        for first in 0..<count - 1 {
            let code = tell(first, first + 2, [])
            guard code == Self.ok else { return code }
        }
        // At the place of the last pair: the word behind it stays its neighbour.
        return isQuery ? Self.ok : tell(count - 1, count, .colocated)
    }

    // MARK: Characters

    /// Scripts without spaces, and Korean.
    private static let scripts: [ClosedRange<UInt32>] = [
        0x1100...0x11FF, 0x3005...0x3007, 0x3041...0x30FA, 0x30FC...0x30FF, 0x3105...0x318E, 0x31A0...0x31BF,
        0x31F0...0x31FF, 0x3400...0x4DBF, 0x4E00...0x9FFF, 0xA960...0xA97C, 0xAC00...0xD7FB, 0xF900...0xFAFF,
        0xFF66...0xFFDC, 0x20000...0x3FFFF,
    ]

    static func isCharacter(_ scalar: UInt32) -> Bool {
        scalar >= 0x1100 && self.scripts.contains { $0.contains(scalar) }
    }

    private static func isCharacter(_ text: UnsafeBufferPointer<CChar>, at place: Int) -> Bool {
        let first = UInt8(bitPattern: text[place])
        // U+1100 begins so.
        guard first >= 0xE1, place + Self.bytes(text, at: place) <= text.count else { return false }
        func rest(_ offset: Int) -> UInt32 { UInt32(UInt8(bitPattern: text[place + offset]) & 0x3F) }
        let scalar =
            first < 0xF0
            ? UInt32(first & 0x0F) << 12 | rest(1) << 6 | rest(2)
            : UInt32(first & 0x07) << 18 | rest(1) << 12 | rest(2) << 6 | rest(3)
        return Self.isCharacter(scalar)
    }

    /// Bytes of the scalar that begins here. The store's texts are UTF-8.
    private static func bytes(_ text: UnsafeBufferPointer<CChar>, at place: Int) -> Int {
        switch UInt8(bitPattern: text[place]) {
        case ..<0xC0: 1
        case ..<0xE0: 2
        case ..<0xF0: 3
        default: 4
        }
    }
}
