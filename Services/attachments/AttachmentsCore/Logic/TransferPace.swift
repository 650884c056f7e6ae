/// Whether a transfer goes on. Times are of one clock, in seconds.
package struct TransferPace: Equatable, Sendable {
    package let startedAt: Double
    package private(set) var movedAt: Double
    package private(set) var bytes: Int64 = 0

    package init(at now: Double) {
        self.startedAt = now
        self.movedAt = now
    }

    package mutating func moved(_ bytes: Int, at now: Double) {
        self.bytes += Int64(bytes)
        self.movedAt = now
    }

    /// Nothing has moved for a while, or too little since the beginning; or it has gone on for too long.
    package func isTooSlow(at now: Double) -> Bool {
        if now - self.movedAt > AttachmentsLimits.stallSecondsMax { return true }
        let elapsed = now - self.startedAt
        if elapsed > AttachmentsLimits.transferSecondsMax { return true }
        return elapsed > AttachmentsLimits.paceGraceSeconds
            && Double(self.bytes) < elapsed * AttachmentsLimits.bytesPerSecondMin
    }
}
