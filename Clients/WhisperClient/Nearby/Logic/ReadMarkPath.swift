/// Read marks over one connection: the marks under way, and a pause after a mark that did not arrive.
package struct ReadMarkPath {
    package typealias Instant = ContinuousClock.Instant

    private var underWay: Set<OwedReceipt> = []
    private var restsUntil: Instant?

    package init() {}

    /// Whether marks may be sent now.
    package func isFree(at now: Instant) -> Bool {
        self.underWay.isEmpty && self.restsUntil.map { $0 <= now } ?? true
    }

    /// These marks are being sent.
    package mutating func send(_ marks: [OwedReceipt]) {
        self.underWay = Set(marks)
        self.restsUntil = nil
    }

    /// The radio has reported the result of one mark.
    package mutating func sent(_ mark: OwedReceipt, arrived: Bool, at now: Instant) {
        self.underWay.remove(mark)
        if !arrived { self.restsUntil = now + NearbyLimits.airPause }
    }

    /// Time has passed.
    package mutating func timerFired(at now: Instant) {
        if self.isFree(at: now) { self.restsUntil = nil }
    }

    /// When marks may be sent again.
    package var nextWake: Instant? { self.underWay.isEmpty ? self.restsUntil : nil }
}
