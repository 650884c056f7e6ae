/// Which pairs have been written down today, so that their next messages write nothing. Bounded: when it is full the
/// older half is forgotten, and forgetting a pair costs one row written once more.
package struct WrittenPairs {
    private struct Day: Hashable {
        var pair: PeerPair
        var day: Int32
    }

    private let pairsMax: Int
    private var young: Set<Day> = []
    private var old: Set<Day> = []

    package init(pairsMax: Int = PresenceLimits.pairsWrittenMax) { self.pairsMax = pairsMax }

    package var pairs: Int { self.young.count + self.old.count }

    package func contains(_ pair: PeerPair, at now: Int64) -> Bool {
        let day = Self.day(pair, now)
        return self.young.contains(day) || self.old.contains(day)
    }

    package mutating func insert(_ pair: PeerPair, at now: Int64) {
        if self.young.count >= self.pairsMax / 2 {
            self.old = self.young
            self.young = []
        }
        self.young.insert(Self.day(pair, now))
    }

    private static let dayMilliseconds: Int64 = 86_400_000

    /// Each pair's day begins at a time of its own, so that there is no midnight at which all of them are written.
    private static func day(_ pair: PeerPair, _ now: Int64) -> Day {
        let start = Int64(truncatingIfNeeded: (pair.from.bits ^ pair.to.bits) % UInt64(Self.dayMilliseconds))
        return Day(pair: pair, day: Int32(truncatingIfNeeded: (now + start) / Self.dayMilliseconds))
    }
}
