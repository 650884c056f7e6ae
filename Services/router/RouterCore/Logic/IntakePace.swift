/// How many Jobs are taken from each partition at once. Redis counts entries, not bytes, so the bytes of the last read
/// decide about the next. One read has a bound in bytes of its own (`BusLimits.readBytesMax`).
package struct IntakePace {
    private let most: Int
    /// Jobs of each partition. One in the beginning, and for partitions taken over: what a router may have died of stands there.
    package private(set) var jobs = 1

    /// - Parameter most: Jobs of each partition, ever.
    package init(most: Int) { self.most = most }

    package mutating func startOver() { self.jobs = 1 }

    /// - Parameters:
    ///   - bytes: of all that was just read.
    ///   - isCut: more was there than a read may hold. Redis sent it for nothing.
    package mutating func hasRead(bytes: Int, isCut: Bool = false) {
        if isCut {
            self.startOver()
        } else if bytes > RouterLimits.intakeBytes {
            self.jobs = max(1, self.jobs * RouterLimits.intakeBytes / bytes)
        } else if bytes > 0, bytes < RouterLimits.intakeBytes / 4 {
            self.jobs = min(self.most, self.jobs * 2)
        }
    }
}
