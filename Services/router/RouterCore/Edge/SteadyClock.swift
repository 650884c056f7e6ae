import Contract

/// The clock of a router's timers: the wall clock at the start, and from there on only forward.
///
/// A machine's time may be set while a router runs. Timers by the wall clock would all fire at once, or not for as long
/// as it was set back. Then no partition would be taken over, no mail sent again, no recipient woken. Stored times, and
/// the ten minutes of contract §3, go by the wall clock.
struct SteadyClock: Sendable {
    private let wall: Timestamp
    private let start: ContinuousClock.Instant

    init(wall: Timestamp = .now, start: ContinuousClock.Instant = .now) {
        self.wall = wall
        self.start = start
    }

    func time(at instant: ContinuousClock.Instant = .now) -> Timestamp { self.wall + (instant - self.start) }
}
