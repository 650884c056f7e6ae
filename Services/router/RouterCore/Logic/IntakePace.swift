/// How many Jobs are taken from each partition at once. Redis counts entries, not bytes: a batch of the longest messages would need more
/// memory than a router has, so what the last read brought decides about the next.
package struct IntakePace {
    private let most: Int
    /// Jobs of each partition. One in the beginning, and for partitions taken over: what a router may have died of stands there.
    package private(set) var jobs = 1

    /// - Parameter most: Jobs of each partition, ever.
    package init(most: Int) { self.most = most }

    package mutating func startOver() { self.jobs = 1 }

    /// - Parameter bytes: of all that was just read.
    package mutating func hasRead(bytes: Int) {
        if bytes > RouterLimits.intakeBytes {
            self.jobs = max(1, self.jobs * RouterLimits.intakeBytes / bytes)
        } else if bytes > 0, bytes < RouterLimits.intakeBytes / 4 {
            self.jobs = min(self.most, self.jobs * 2)
        }
    }
}
