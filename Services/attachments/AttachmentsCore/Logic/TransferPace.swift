/// Whether a transfer goes on. Times are of one clock, in seconds.
package struct TransferPace: Equatable, Sendable {
    package let startedAt: Double
    package private(set) var movedAt: Double
    package private(set) var bytes: Int64 = 0
    private let limits: TransferLimits

    package init(at now: Double, limits: TransferLimits = TransferLimits()) {
        self.startedAt = now
        self.movedAt = now
        self.limits = limits
    }

    package mutating func moved(_ bytes: Int, at now: Double) {
        self.bytes += Int64(bytes)
        self.movedAt = now
    }

    /// Nothing has moved for a while, or too little since the beginning; or it has gone on for too long.
    package func isTooSlow(at now: Double) -> Bool {
        if now - self.movedAt > self.limits.stallSecondsMax { return true }
        if now - self.startedAt > AttachmentsLimits.transferSecondsMax { return true }
        return self.bytesPerSecond(at: now).map { $0 < self.limits.bytesPerSecondMin } ?? false
    }

    /// How fast it is if it has to give way where no place is left; nil if it need not.
    package func isSlowForACrowd(at now: Double) -> Double? {
        self.bytesPerSecond(at: now).flatMap { $0 < self.limits.crowdedBytesPerSecondMin ? $0 : nil }
    }

    /// On average; nil while it is too early to say.
    private func bytesPerSecond(at now: Double) -> Double? {
        let elapsed = now - self.startedAt
        return elapsed > self.limits.paceGraceSeconds ? Double(self.bytes) / elapsed : nil
    }
}
