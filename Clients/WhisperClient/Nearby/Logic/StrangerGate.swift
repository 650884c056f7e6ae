package import Contract

/// Bounds what strangers nearby bring into the store, over however many connections.
package struct StrangerGate {
    package typealias Instant = ContinuousClock.Instant

    /// By their writers.
    private var messages: [WhisperID: Int] = [:]
    /// When strangers were let in, within the last period.
    private var entries: [Instant] = []

    package init() {}

    /// Whether somebody unknown may become a stranger now. It counts.
    package mutating func letsIn(at now: Instant) -> Bool {
        self.entries.removeAll { $0 + NearbyLimits.strangersPeriod <= now }
        guard self.entries.count < NearbyLimits.strangersPerPeriodMax else { return false }
        self.entries.append(now)
        return true
    }

    /// Whether one more message of a stranger is taken. It counts.
    package mutating func takesMessage(of id: WhisperID) -> Bool {
        guard self.messages[id, default: 0] < NearbyLimits.strangerMessagesMax else { return false }
        self.messages[id, default: 0] += 1
        return true
    }
}
