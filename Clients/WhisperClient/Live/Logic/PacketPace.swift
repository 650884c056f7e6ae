import Contract

/// Spaces packets: never more than 25 in any second, and evenly, so that the next packet never waits long (contract
/// §14.9).
struct PacketPace {
    typealias Instant = ContinuousClock.Instant

    static let window = Duration.seconds(1)
    static let step = Self.window / LiveLimits.packetsPerSecondMax

    /// Send times of the newest packets, at most as many as a second allows, the newest last.
    private var sent: [Instant] = []
    private var next: Instant?

    /// The earliest time for this many packets at once; `nil`: at any time.
    func earliest(_ count: Int) -> Instant? {
        let room = LiveLimits.packetsPerSecondMax - count
        let windowed = self.sent.count > room ? self.sent[self.sent.count - 1 - room] + Self.window : nil
        return [windowed, self.next].compactMap { $0 }.max()
    }

    mutating func went(_ count: Int, at now: Instant) {
        self.sent += Array(repeating: now, count: count)
        self.sent.removeFirst(max(0, self.sent.count - LiveLimits.packetsPerSecondMax))
        self.next = max(self.next ?? now, now) + Self.step * count
    }
}
