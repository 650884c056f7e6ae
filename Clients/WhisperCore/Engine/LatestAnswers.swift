import Synchronization

/// The server's latest answers to commands with a `corrId`. A host that lost its stream finds there what it has missed.
final class LatestAnswers: Sendable {
    private struct Kept {
        var corrID: String
        var verb: String
        var outcome: Outcome
        var until: ContinuousClock.Instant
    }

    /// The oldest first.
    private let kept = Mutex<[Kept]>([])

    func keep(_ outcome: Outcome, of verb: String, for corrID: String, at now: ContinuousClock.Instant = .now) {
        self.kept.withLock { kept in
            kept.removeAll { $0.corrID == corrID || $0.until <= now }
            kept.append(Kept(corrID: corrID, verb: verb, outcome: outcome, until: now + CoreLimits.answersKeptFor))
            if kept.count > CoreLimits.answersKeptMax { kept.removeFirst() }
        }
    }

    /// - Returns: `nil` if there is none, or none any more.
    func answer(to corrID: String, at now: ContinuousClock.Instant = .now) -> (verb: String, outcome: Outcome)? {
        self.kept.withLock { kept in
            kept.first { $0.corrID == corrID && $0.until > now }.map { ($0.verb, $0.outcome) }
        }
    }
}
