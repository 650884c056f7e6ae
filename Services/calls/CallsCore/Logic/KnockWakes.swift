package import Contract

/// When the devices of a conversation were last woken because somebody knocked. Pure: the time is an argument.
package struct KnockWakes: Sendable {
    private var wokenAt: [ConversationID: ContinuousClock.Instant] = [:]

    package init() {}

    /// Whether to wake now. Then the next one waits for `CallLimits.knockWakePause`.
    package mutating func admits(_ conversation: ConversationID, at now: ContinuousClock.Instant) -> Bool {
        if let last = self.wokenAt[conversation], now - last < CallLimits.knockWakePause { return false }
        if self.wokenAt.count >= CallLimits.knockWakesRememberedMax {
            self.wokenAt = self.wokenAt.filter { now - $0.value < CallLimits.knockWakePause }
            if self.wokenAt.count >= CallLimits.knockWakesRememberedMax,
                let oldest = self.wokenAt.min(by: { $0.value < $1.value })
            {
                self.wokenAt[oldest.key] = nil
            }
        }
        self.wokenAt[conversation] = now
        return true
    }

    /// The wake-up got lost: the next knock wakes.
    package mutating func failed(_ conversation: ConversationID) { self.wokenAt[conversation] = nil }
}
