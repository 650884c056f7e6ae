/// Which slices of sessions have their turn: each once a second, spread evenly over it.
///
/// A quiet router looks rarely; slices that came due meanwhile have their turn together, each once.
struct TimerTurns {
    /// Turns that have passed since time 0, of which there are `timerSlices` in a second.
    private var passed: Int64 = 0

    mutating func due(at now: Int64) -> [Int] {
        let slices = Int64(RouterLimits.timerSlices)
        let turn = now * slices / 1_000
        defer { self.passed = turn }
        guard turn > self.passed else { return [] }
        return (max(self.passed, turn - slices) + 1...turn).map { Int($0 % slices) }
    }
}
