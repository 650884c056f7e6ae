import Contract

/// The time by which a router's timers run: the wall clock as it was at the beginning, and from there on only forward.
///
/// A machine's time may be set while a router runs. Timers by the wall clock would all fire at once, or not for as long as it was
/// set back: no partition would be taken over, nothing sent again, nobody woken. What is stored, and the ten minutes of contract
/// §3, go by the wall clock.
struct SteadyClock: Sendable {
    private let wall: Timestamp
    private let start: ContinuousClock.Instant

    init(wall: Timestamp = .now, start: ContinuousClock.Instant = .now) {
        self.wall = wall
        self.start = start
    }

    func time(at instant: ContinuousClock.Instant = .now) -> Timestamp { self.wall + (instant - self.start) }
}
