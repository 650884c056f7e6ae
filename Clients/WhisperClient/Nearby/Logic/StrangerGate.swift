package import Contract

/// Bounds the strangers and messages that phones nearby add to the store, over any number of connections.
package struct StrangerGate {
    package typealias Instant = ContinuousClock.Instant

    /// Counts by sender.
    private var messages: [WhisperID: Int] = [:]
    /// When strangers were accepted, within the last period.
    private var entries: [Instant] = []

    package init() {}

    /// Whether an unknown identity may become a stranger now. Counts it.
    package mutating func letsIn(at now: Instant) -> Bool {
        self.entries.removeAll { $0 + NearbyLimits.strangersPeriod <= now }
        guard self.entries.count < NearbyLimits.strangersPerPeriodMax else { return false }
        self.entries.append(now)
        return true
    }

    /// Whether one more message of a stranger is accepted. Counts it.
    package mutating func takesMessage(of id: WhisperID) -> Bool {
        guard self.messages[id, default: 0] < NearbyLimits.strangerMessagesMax else { return false }
        self.messages[id, default: 0] += 1
        return true
    }
}
