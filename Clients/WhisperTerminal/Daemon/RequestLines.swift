import Glibc

/// Lines of a descriptor. A line that is too long is skipped.
struct RequestLines {
    enum Line: Equatable {
        case text([UInt8])
        case tooLong
    }

    let descriptor: Int32
    /// Bytes of a line.
    let bytesMax: Int
    private var waiting: [UInt8] = []
    /// Bytes of these that were looked at, and have no end of a line.
    private var lookedAt = 0
    private var isSkipping = false
    private var isAtEnd = false

    init(_ descriptor: Int32, bytesMax: Int) {
        self.descriptor = descriptor
        self.bytesMax = bytesMax
    }

    /// Waits for the next line that is not empty. It blocks its thread.
    /// - Returns: `nil` at the end.
    mutating func next() -> Line? {
        while true {
            while let line = self.taken() {
                if line != .text([]) { return line }
            }
            guard !self.isAtEnd else { return nil }
            self.fill()
        }
    }

    private mutating func taken() -> Line? {
        guard let end = self.waiting[self.lookedAt...].firstIndex(of: 0x0A) ?? self.endOfInput else {
            self.lookedAt = self.waiting.count
            if self.waiting.count > self.bytesMax {
                (self.waiting, self.lookedAt) = ([], 0)
                self.isSkipping = true
            }
            return nil
        }
        self.lookedAt = 0
        defer { self.waiting.removeSubrange(..<min(end + 1, self.waiting.count)) }
        if self.isSkipping || end > self.bytesMax {
            self.isSkipping = false
            return .tooLong
        }
        let line = self.waiting[..<end]
        return .text(Array(line.last == 0x0D ? line.dropLast() : line))
    }

    /// The last line may end with the input.
    private var endOfInput: Int? {
        self.isAtEnd && (self.isSkipping || !self.waiting.isEmpty) ? self.waiting.count : nil
    }

    private mutating func fill() {
        var bytes = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = read(self.descriptor, &bytes, bytes.count)
            if count < 0, errno == EINTR { continue }
            self.isAtEnd = count <= 0
            self.waiting.append(contentsOf: bytes.prefix(max(count, 0)))
            return
        }
    }
}
