package import Contract

/// Recipients that were pushed lately, to see how soon they come back. Forgetting one costs a figure: whether it came is
/// looked up again when its reminder is due.
package struct WakeWatch {
    private let length: Duration
    private let watchedMax: Int
    private var sentAt: [WhisperID: ContinuousClock.Instant] = [:]

    package init(length: Duration = PushLimits.watchLength, watchedMax: Int = PushLimits.watchedMax) {
        self.length = length
        self.watchedMax = watchedMax
    }

    package var isEmpty: Bool { self.sentAt.isEmpty }

    package mutating func sent(to recipient: WhisperID, at now: ContinuousClock.Instant) {
        guard self.sentAt[recipient] != nil || self.sentAt.count < self.watchedMax else { return }
        self.sentAt[recipient] = now
    }

    /// Recipients whose presence to check now.
    package mutating func watched(at now: ContinuousClock.Instant) -> [WhisperID] {
        self.sentAt = self.sentAt.filter { now - $0.value < self.length }
        return Array(self.sentAt.keys)
    }

    /// - Returns: how long it took; nil if it was not watched, or was seen before.
    package mutating func came(_ recipient: WhisperID, at now: ContinuousClock.Instant) -> Duration? {
        self.sentAt.removeValue(forKey: recipient).map { now - $0 }
    }
}
