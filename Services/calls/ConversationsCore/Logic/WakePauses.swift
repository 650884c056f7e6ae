/// The times of the last wake-ups because of each subject. Pure: the time is an argument.
package struct WakePauses<Subject: Hashable & Sendable>: Sendable {
    private let pause: Duration
    private var wokenAt: [Subject: ContinuousClock.Instant] = [:]

    /// - Parameter pause: between two wake-ups because of one subject.
    package init(of pause: Duration) { self.pause = pause }

    /// Whether to wake now. Then the next one waits for the pause.
    package mutating func admits(_ subject: Subject, at now: ContinuousClock.Instant) -> Bool {
        if let last = self.wokenAt[subject], now - last < self.pause { return false }
        if self.wokenAt.count >= ConversationLimits.wakesRememberedMax {
            self.wokenAt = self.wokenAt.filter { now - $0.value < self.pause }
            if self.wokenAt.count >= ConversationLimits.wakesRememberedMax,
                let oldest = self.wokenAt.min(by: { $0.value < $1.value })
            {
                self.wokenAt[oldest.key] = nil
            }
        }
        self.wokenAt[subject] = now
        return true
    }

    /// The wake-up got lost: the next knock wakes.
    package mutating func failed(_ subject: Subject) { self.wokenAt[subject] = nil }
}
