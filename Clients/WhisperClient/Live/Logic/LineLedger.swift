import Contract

/// The lines of a stream that a listener has or misses, and how long it requests missing ones. Holds only numbers.
struct LineLedger {
    typealias Instant = ContinuousClock.Instant

    /// Lines that are missing.
    private struct Gap {
        var numbers: ClosedRange<Int>
        /// The lines are requested until this time. `nil`: given up, and shown as missing. A later line still fills its
        /// place.
        var until: Instant?
    }

    /// Separate runs of missing lines that are kept. Above this number the oldest is given up and forgotten.
    static let gapsMax = 64

    /// The newest line known to be completed.
    private(set) var newest: Int
    /// In order, without overlap.
    private var gaps: [Gap] = []
    /// Runs given up above `gapsMax`, not yet shown as missing.
    private var crowdedOut: [ClosedRange<Int>] = []

    /// - Parameter count: lines that were completed before the listener joined, and that it must not get.
    init(completedBefore count: Int) { self.newest = count }

    var isAsking: Bool { self.gaps.contains { $0.until != nil } }

    /// All lines up to this one are received, or given up.
    var settled: Int {
        self.gaps.first { $0.until != nil }.map { $0.numbers.lowerBound - 1 } ?? self.newest
    }

    /// So many lines are completed: a listener that has fewer has missed some (contract §14.9).
    mutating func completed(_ count: Int, at now: Instant) {
        guard count > self.newest else { return }
        self.insert(Gap(numbers: self.newest + 1...count, until: now + LiveLimits.missingLinesShownAfter))
        self.newest = count
    }

    /// A line was received.
    /// - Returns: whether it was missing.
    mutating func take(_ number: Int, at now: Instant) -> Bool {
        self.completed(number, at: now)
        guard let index = self.gaps.firstIndex(where: { $0.numbers.contains(number) }) else { return false }
        let gap = self.gaps.remove(at: index)
        if number < gap.numbers.upperBound {
            self.insert(Gap(numbers: number + 1...gap.numbers.upperBound, until: gap.until))
        }
        if gap.numbers.lowerBound < number {
            self.insert(Gap(numbers: gap.numbers.lowerBound...number - 1, until: gap.until))
        }
        return true
    }

    /// No device could answer meanwhile: missing lines get their full time again, starting now.
    mutating func askAnew(from now: Instant) {
        for index in self.gaps.indices where self.gaps[index].until != nil {
            self.gaps[index].until = now + LiveLimits.missingLinesShownAfter
        }
    }

    /// - Returns: the lines that are to be shown as missing from now on.
    mutating func giveUp(at now: Instant) -> [ClosedRange<Int>] {
        var given = self.crowdedOut
        self.crowdedOut = []
        for index in self.gaps.indices where self.gaps[index].until.map({ $0 <= now }) == true {
            self.gaps[index].until = nil
            given.append(self.gaps[index].numbers)
        }
        return given
    }

    /// When `giveUp` has something to do next.
    var nextDeadline: Instant? {
        self.gaps.compactMap(\.until).min()
    }

    private mutating func insert(_ gap: Gap) {
        let index = self.gaps.firstIndex { gap.numbers.upperBound < $0.numbers.lowerBound } ?? self.gaps.endIndex
        self.gaps.insert(gap, at: index)
        guard self.gaps.count > Self.gapsMax else { return }
        let oldest = self.gaps.removeFirst()
        if oldest.until != nil { self.crowdedOut.append(oldest.numbers) }
    }
}
