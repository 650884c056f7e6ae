import Contract

/// A clock for expiries: it goes on when the device's clock is set back.
struct SteadyTime {
    private var seen: (time: Timestamp, at: ContinuousClock.Instant)?

    /// - Parameter wall: by the device's clock, corrected by what is known of the server's.
    mutating func now(_ wall: Timestamp, at instant: ContinuousClock.Instant) -> Timestamp {
        let carried = self.seen.map { $0.time + (instant - $0.at) } ?? wall
        let now = max(wall, carried)
        self.seen = (now, instant)
        return now
    }

    /// The server has told its time. A device's clock that was ahead does not count any more.
    mutating func learned(_ time: Timestamp, at instant: ContinuousClock.Instant) { self.seen = (time, instant) }
}
