import NIOCore

/// When the next of something is due that comes at an even rate.
struct SteadySchedule {
    /// Nanoseconds of `NIODeadline`.
    private(set) var due: UInt64
    private let interval: UInt64

    /// - Parameter rate: a second, above 0. The first is due now.
    init(rate: Int) {
        self.due = NIODeadline.now().uptimeNanoseconds
        self.interval = 1_000_000_000 / UInt64(rate)
    }

    /// - Returns: when the next one was due; `nil` if it is not due yet. A stall of this tool must not look like a fast server, so
    ///   none is left out.
    mutating func next(by now: UInt64) -> UInt64? {
        guard self.due <= now else { return nil }
        defer { self.due += self.interval }
        return self.due
    }
}
