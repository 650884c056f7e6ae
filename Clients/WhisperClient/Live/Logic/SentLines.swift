import Contract

/// The completed lines that a whisperer may have to send again: lines not confirmed as stored, and the newest others,
/// for listeners that miss some.
struct SentLines {
    typealias Instant = ContinuousClock.Instant

    struct Line {
        let number: Int
        let text: LiveText
        /// By the server's clock. No listener gets a line that was completed before it joined.
        let completedAt: Timestamp
        /// The position of its last packet to all.
        var position: LivePosition
        var isStored: Bool
        /// How often it was sent to all.
        var timesSent: Int
        /// When it is sent to all again.
        var repeatAt: Instant?
    }

    /// Lines that are kept. The oldest line that waits for no repetition is dropped first, otherwise the oldest.
    static let keptMax = 1_024
    /// Waits for `live_line_stored`. They grow, to spare a database that is down.
    static let repeating = Backoff(first: LiveLimits.lineStoredWithin, longest: .seconds(60))
    /// A line that was refused after this many sendings is given up: listeners see it as missing.
    static let refusalsMax = 5

    /// By number.
    private var lines: [Line] = []

    var all: [NumberedLine] { self.lines.map { NumberedLine(number: $0.number, text: $0.text) } }

    subscript(number: Int) -> Line? { self.lines.first { $0.number == number } }

    mutating func add(
        _ number: Int, _ text: LiveText, at position: LivePosition, completedAt: Timestamp, repeatAt: Instant?
    ) {
        self.lines.append(
            Line(
                number: number, text: text, completedAt: completedAt, position: position, isStored: false, timesSent: 1,
                repeatAt: repeatAt))
        guard self.lines.count > Self.keptMax else { return }
        self.lines.remove(at: self.lines.firstIndex { $0.isStored || $0.repeatAt == nil } ?? 0)
    }

    /// A line was sent to all once more.
    mutating func repeated(_ number: Int, by position: LivePosition, at now: Instant, isTranscribed: Bool) {
        guard let index = self.lines.firstIndex(where: { $0.number == number }) else { return }
        self.lines[index].position = position
        self.lines[index].timesSent += 1
        if isTranscribed, !self.lines[index].isStored {
            self.lines[index].repeatAt = now + Self.repeating.pause(after: self.lines[index].timesSent)
        }
    }

    mutating func stored(_ numbers: [Int]) {
        for index in self.lines.indices where numbers.contains(self.lines[index].number) {
            self.lines[index].isStored = true
            self.lines[index].repeatAt = nil
        }
    }

    /// - Returns: the line that this packet carried, if it may be sent once more.
    func refused(_ position: LivePosition) -> Int? {
        self.lines.last { $0.position == position && $0.timesSent < Self.refusalsMax }?.number
    }

    /// A whisperer that resumes the stream repeats the lines that were not confirmed as stored (contract §14.12).
    mutating func repeatUnstored(at now: Instant) {
        for index in self.lines.indices where !self.lines[index].isStored { self.lines[index].repeatAt = now }
    }

    /// Numbers of the lines that are due for a repetition.
    func due(at now: Instant) -> [Int] {
        self.lines.filter { $0.repeatAt.map { $0 <= now } == true }.map(\.number)
    }

    var nextRepeat: Instant? { self.lines.compactMap(\.repeatAt).min() }

    mutating func underWay(_ number: Int) {
        if let index = self.lines.firstIndex(where: { $0.number == number }) { self.lines[index].repeatAt = nil }
    }

    /// The newest lines that one listener may get: from this number on, and not completed before it joined.
    func wanted(from number: Int, since: Timestamp) -> [Int] {
        self.lines.filter { $0.number >= number && $0.completedAt >= since }.suffix(LiveLimits.linesRememberedMax)
            .map(\.number)
    }
}
