package import Contract

/// Decides when documents that are owed are written: a while after the last change, and not too often. Holds no clock.
package struct ProfilePace {
    private struct Owed {
        var changes: Int64
        let since: ContinuousClock.Instant
        var last: ContinuousClock.Instant
    }

    private var owed: [ProfileDocumentName: Owed] = [:]
    private var writtenAt: [ProfileDocumentName: ContinuousClock.Instant] = [:]
    /// After a failure nothing is due before this time.
    private var pausedUntil: ContinuousClock.Instant?
    /// Everything that is owed is due.
    private(set) package var isUrgent = false

    package init() {}

    package var owesNothing: Bool { self.owed.isEmpty }
    package var isPaused: Bool { self.pausedUntil != nil }

    /// - Parameter changes: of each document that is owed, as the store counts them.
    package mutating func owes(_ changes: [ProfileDocumentName: Int64], at now: ContinuousClock.Instant) {
        let before = self.owed
        self.owed = [:]
        for (name, count) in changes {
            var owed = before[name] ?? Owed(changes: count, since: now, last: now)
            if owed.changes != count { (owed.changes, owed.last) = (count, now) }
            self.owed[name] = owed
        }
        if changes.isEmpty { self.isUrgent = false }
    }

    /// The client is about to close, or the profile was just shared.
    package mutating func hurry() {
        self.isUrgent = !self.owed.isEmpty
        self.pausedUntil = nil
    }

    package mutating func wrote(_ name: ProfileDocumentName, at now: ContinuousClock.Instant) {
        self.writtenAt[name] = now
    }

    package mutating func failed(at now: ContinuousClock.Instant) {
        self.pausedUntil = now + ProfileLimits.pauseAfterFailure
        self.isUrgent = false
    }

    private func due(_ name: ProfileDocumentName, _ owed: Owed) -> ContinuousClock.Instant {
        guard !self.isUrgent else { return owed.since }
        let quiet = min(owed.last + ProfileLimits.quietBefore, owed.since + ProfileLimits.writtenEvery)
        let paced = self.writtenAt[name].map { $0 + ProfileLimits.writtenEvery } ?? quiet
        return max(quiet, paced, self.pausedUntil ?? quiet)
    }

    package func due(at now: ContinuousClock.Instant) -> [ProfileDocumentName] {
        ProfileDocumentName.allCases.filter { name in self.owed[name].map { self.due(name, $0) <= now } ?? false }
    }

    package var nextWake: ContinuousClock.Instant? { self.owed.map { self.due($0.key, $0.value) }.min() }

    /// When an attempt that has failed is to be repeated, whether anything is owed or not.
    package var retryAt: ContinuousClock.Instant? { self.pausedUntil }

    /// Another attempt begins.
    package mutating func retried() { self.pausedUntil = nil }
}
