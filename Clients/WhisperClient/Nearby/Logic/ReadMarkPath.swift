/// Read marks over one connection: which are under way, and a pause after one that did not arrive.
package struct ReadMarkPath {
    package typealias Instant = ContinuousClock.Instant

    private var underWay: Set<OwedReceipt> = []
    private var restsUntil: Instant?

    package init() {}

    /// Whether marks may go now.
    package func isFree(at now: Instant) -> Bool {
        self.underWay.isEmpty && self.restsUntil.map { $0 <= now } ?? true
    }

    /// These go now.
    package mutating func send(_ marks: [OwedReceipt]) {
        self.underWay = Set(marks)
        self.restsUntil = nil
    }

    /// The radio has told what became of one.
    package mutating func sent(_ mark: OwedReceipt, arrived: Bool, at now: Instant) {
        self.underWay.remove(mark)
        if !arrived { self.restsUntil = now + NearbyLimits.airPause }
    }

    /// Time has passed.
    package mutating func timerFired(at now: Instant) {
        if self.isFree(at: now) { self.restsUntil = nil }
    }

    /// When marks may go again.
    package var nextWake: Instant? { self.underWay.isEmpty ? self.restsUntil : nil }
}
