import Contract

/// Identities woken lately, so that a hundred messages to a sleeping phone make one Job. Bounded; forgetting an
/// identity costs one wake-up too many, which the push service coalesces anyway.
struct WakeMemory {
    private var wokenAt: [WhisperID: Int64] = [:]

    /// - Parameter isForMail: mail has just been stored. If mail only may wait, push may find that none does, and wake nobody:
    ///   that is not remembered, so that the next mail wakes.
    mutating func shouldWake(_ identity: WhisperID, isForMail: Bool, at now: Int64) -> Bool {
        guard isForMail else { return true }
        if let last = self.wokenAt[identity], now - last < RouterLimits.wakePause.milliseconds { return false }
        if self.wokenAt.count >= RouterLimits.wakesRememberedMax { self.wokenAt.removeAll(keepingCapacity: true) }
        self.wokenAt[identity] = now
        return true
    }

    /// An identity that has connected since is woken anew: the earlier push has done its work.
    mutating func came(_ identity: WhisperID) { self.wokenAt[identity] = nil }

    mutating func forget(olderThan now: Int64) {
        self.wokenAt = self.wokenAt.filter { now - $0.value < RouterLimits.wakePause.milliseconds }
    }
}
