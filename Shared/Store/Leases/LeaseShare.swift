/// Which shares one process should take or give up, so that all of them have an owner and no process has more than its
/// part. Every process decides this for itself, from what the database says.
package enum LeaseShare {
    package struct Decision: Equatable {
        package var take: [Int]
        package var giveUp: [Int]

        package var isEmpty: Bool { self.take.isEmpty && self.giveUp.isEmpty }
    }

    /// - Parameters:
    ///   - mine: shares that this process owns.
    ///   - taken: shares that any process owns, this one included.
    ///   - members: processes alive, this one included.
    ///   - count: of all shares.
    package static func decide(mine: Set<Int>, taken: Set<Int>, members: Int, of count: Int) -> Decision {
        let part = (count + members - 1) / members
        if mine.count > part {
            return Decision(take: [], giveUp: Array(mine.sorted().suffix(mine.count - part)))
        }
        let free = (0..<count).filter { !taken.contains($0) }
        return Decision(take: Array(free.prefix(part - mine.count)), giveUp: [])
    }
}
