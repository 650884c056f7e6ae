import LocalStack

/// Places for three clusters at a time, on a small machine: most suites wait more than they compute.
///
/// A busy suite takes two places, so one quiet suite runs beside it. Busy suites go first, one after the other, because the quiet
/// ones fill what is left of the machine better at the end; of these the long ones go first, so that none is left alone. No suite
/// starves: the suites of a run arrive at its start, and each takes one turn.
actor Turns {
    enum Use: Sendable {
        /// The suite's cluster leaves the processors idle for much of the time.
        case quiet
        /// The same for minutes.
        case long
        /// The suite loads the processors.
        case busy

        fileprivate var places: Int { self == .busy ? 2 : 1 }
    }

    struct Turn: Sendable {
        fileprivate var number: Int
        fileprivate var use: Use
        fileprivate var configuration: StackConfiguration?
        /// A running cluster of this configuration, which an earlier suite has left.
        fileprivate(set) var stack: LocalStack?

        fileprivate func hasClusterOf(_ other: Turn) -> Bool {
            guard let own = self.configuration, let others = other.configuration else { return false }
            return self.use == other.use && own.isLike(others)
        }
    }

    static let shared = Turns()
    private static let places = 3
    private var count = 0
    private var underWay: [Turn] = []
    private var waiting: [(turn: Turn, admission: CheckedContinuation<LocalStack?, Never>)] = []

    /// Returns when the turn has come: `end` or `pass` ends it.
    /// - Parameter configuration: of the cluster that the suite needs. Nil if it starts its own.
    func take(_ use: Use, with configuration: StackConfiguration?) async -> Turn {
        self.count += 1
        var turn = Turn(number: self.count, use: use, configuration: configuration)
        if self.fits(turn) {
            self.underWay.append(turn)
        } else {
            turn.stack = await withCheckedContinuation { self.waiting.append((turn, $0)) }
        }
        return turn
    }

    /// Passes the turn, with the cluster, to a suite that waits for one of the same configuration.
    /// - Returns: whether one waits. If not, the caller stops the cluster and ends the turn.
    func pass(_ turn: Turn, with stack: LocalStack) -> Bool {
        guard let next = self.waiting.firstIndex(where: { $0.turn.hasClusterOf(turn) }) else { return false }
        let (heir, admission) = self.waiting.remove(at: next)
        self.underWay.removeAll { $0.number == turn.number }
        self.underWay.append(heir)
        admission.resume(returning: stack)
        return true
    }

    func end(_ turn: Turn) {
        self.underWay.removeAll { $0.number == turn.number }
        while let next = self.next {
            let (turn, admission) = self.waiting.remove(at: next)
            self.underWay.append(turn)
            admission.resume(returning: nil)
        }
    }

    private var next: Int? {
        self.waiting.firstIndex { $0.turn.use == .busy && self.fits($0.turn) }
            ?? self.waiting.firstIndex { $0.turn.use == .long && self.fits($0.turn) }
            ?? self.waiting.firstIndex { self.fits($0.turn) }
    }

    /// A suite whose configuration runs waits for that cluster, and a quiet suite keeps no place from a busy one.
    private func fits(_ turn: Turn) -> Bool {
        let keptFree =
            turn.use != .busy && self.waiting.contains { $0.turn.use == .busy }
                && !self.underWay.contains { $0.use == .busy }
            ? Use.busy.places : 0
        return self.underWay.reduce(turn.use.places + keptFree) { $0 + $1.use.places } <= Self.places
            && !self.underWay.contains { $0.hasClusterOf(turn) }
    }
}

extension StackConfiguration {
    /// Whether clusters of both differ in nothing but their secrets.
    fileprivate func isLike(_ other: StackConfiguration) -> Bool {
        var own = self
        own.adminToken = other.adminToken
        own.viewerToken = other.viewerToken
        own.turnSecret = other.turnSecret
        own.signingSecret = other.signingSecret
        return own == other
    }
}
