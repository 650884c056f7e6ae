/// A completed line of a stream.
package struct NumberedLine: Hashable, Sendable {
    package let number: Int
    package let text: LiveText
}

/// Completed lines of one stream that a listener has, in memory alone: a program that comes later shows them again.
struct HeardLines {
    /// Lines that are kept. The oldest go first.
    static let keptMax = SentLines.keptMax

    /// By number.
    private(set) var lines: [NumberedLine] = []

    /// Each number comes once, and may come late.
    mutating func add(_ number: Int, _ text: LiveText) {
        let place = self.lines.lastIndex { $0.number < number }.map { $0 + 1 } ?? 0
        self.lines.insert(NumberedLine(number: number, text: text), at: place)
        if self.lines.count > Self.keptMax { self.lines.removeFirst() }
    }
}
