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

    /// Shares of the next read, and whether they are all.
    func next(of owned: some Collection<Share>) -> (shares: [Share], isAll: Bool) {
        guard !self.left.isEmpty, owned.count > BusLimits.readStreamsMax else { return (Array(owned), true) }
        return (Array(self.left.prefix(BusLimits.readStreamsMax)), false)
    }

    /// Each has a turn of its own.
    mutating func startOver(with owned: some Collection<Share>) { self.left = owned.sorted() }

    /// - Parameter cut: shares of which more is there than the read could hold.
    mutating func hasRead(_ shares: [Share], cut: Set<Share>, of owned: some Collection<Share>) {
        guard cut.isEmpty else {
            self.left = cut.sorted() + owned.filter { !cut.contains($0) }.sorted()
            return
        }
        guard !self.left.isEmpty else { return }
        let (had, ours) = (Set(shares), Set(owned))
        self.left.removeAll { had.contains($0) || !ours.contains($0) }
    }
}
