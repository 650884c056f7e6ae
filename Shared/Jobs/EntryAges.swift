package import Bus

/// Age of a stream entry by the clock of Redis, which assigned its id. Clocks of producers and consumers have no part in it.
package struct EntryAges: Sendable {
    private let serverTime: UInt64
    private let readAt: ContinuousClock.Instant

    /// - Parameter serverTime: just read (`JobBus.time`). Good for hours: the two clocks run equally fast.
    package init(serverTime: UInt64, at now: ContinuousClock.Instant = .now) {
        self.serverTime = serverTime
        self.readAt = now
    }

    /// Not below zero.
    package func age(of id: EntryID, at now: ContinuousClock.Instant = .now) -> Duration {
        max(
            .zero,
            .milliseconds(Int64(clamping: self.serverTime)) - .milliseconds(Int64(clamping: id.milliseconds))
                + (now - self.readAt))
    }
}
