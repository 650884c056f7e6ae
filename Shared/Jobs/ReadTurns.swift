import Bus
import Contract

/// Which shares one read names. All of them at once, while what stands in their streams fits into one answer. After an answer that
/// was cut, and for shares that are new, a few at a time with one Job of each, until each had its turn. Otherwise a
/// stream behind others with long Jobs might never be read.
///
/// Pure: holds no bus.
struct ReadTurns<Share: LeasedShare> {
    /// Shares that are still to have a turn of their own.
    private var left: [Share] = []

    /// Whether the next read of so many shares names a few of them. So few that one read can hold them need no turns.
    func areTaken(by count: Int) -> Bool { !self.left.isEmpty && count > BusLimits.readStreamsMax }

    /// The shares whose turn is next.
    var next: [Share] { Array(self.left.prefix(BusLimits.readStreamsMax)) }

    /// Each has a turn of its own.
    mutating func startOver(with owned: some Collection<Share>) { self.left = owned.sorted() }

    /// They are another owner's, or had their turn.
    mutating func remove(_ shares: [Share]) {
        guard !self.left.isEmpty else { return }
        let gone = Set(shares)
        self.left.removeAll { gone.contains($0) }
    }

    /// - Parameters:
    ///   - shares: those that were named.
    ///   - cut: those of which more is there than the read could hold. They begin.
    mutating func hasRead(_ shares: [Share], cut: Set<Share>, of owned: some Collection<Share>) {
        guard cut.isEmpty else {
            self.left = cut.sorted() + owned.filter { !cut.contains($0) }.sorted()
            return
        }
        self.remove(shares)
    }
}
