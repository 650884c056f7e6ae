/// How old entries are, whatever the clocks of those say who wrote and read them: by the one of the server that numbered them.
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
        max(.zero, .milliseconds(Int64(clamping: self.serverTime)) - .milliseconds(Int64(clamping: id.milliseconds)) + (now - self.readAt))
    }
}
