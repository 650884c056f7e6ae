import Contract

/// Who was woken lately, so that a hundred messages to a sleeping phone make one Job. Bounded; forgetting somebody costs
/// one wake-up too many, which the push service coalesces anyway.
struct WakeMemory {
    private var wokenAt: [WhisperID: Int64] = [:]

    mutating func shouldWake(_ identity: WhisperID, at now: Int64) -> Bool {
        if let last = self.wokenAt[identity], now - last < RouterLimits.wakePause.milliseconds { return false }
        if self.wokenAt.count >= RouterLimits.wakesRememberedMax { self.wokenAt.removeAll(keepingCapacity: true) }
        self.wokenAt[identity] = now
        return true
    }

    /// It has come: mail that it misses when it is away again is another reason to wake it.
    mutating func came(_ identity: WhisperID) { self.wokenAt[identity] = nil }

    mutating func forget(olderThan now: Int64) {
        self.wokenAt = self.wokenAt.filter { now - $0.value < RouterLimits.wakePause.milliseconds }
    }
}
