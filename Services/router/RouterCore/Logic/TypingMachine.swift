import Contract

/// Decides which `typing` reaches its recipient: of a peer, and at most one in `pause`. Whether two are peers is looked up
/// once and remembered for a while, so that a key pressed costs no query.
package struct TypingMachine {
    private struct Entry {
        /// When the last one was taken.
        var takenAt: Int64
        var isPeer = false
        /// Until when `isPeer` is believed.
        var knownUntil = Int64.min
        /// Waits for the lookup.
        var waiting: Bool?
    }

    package enum Action: Equatable { case tell, lookUp, drop }

    private let pause: Int64
    private let pairsMax: Int
    private var entries: [PeerPair: Entry] = [:]

    package init(_ configuration: PresenceConfiguration, pairsMax: Int = PresenceLimits.typingPairsMax) {
        self.pause = configuration.typingPause.milliseconds
        self.pairsMax = pairsMax
    }

    package var pairs: Int { self.entries.count }

    package mutating func heard(_ isTyping: Bool, _ pair: PeerPair, at now: Int64) -> Action {
        guard var entry = self.entries[pair] else {
            guard self.entries.count < self.pairsMax else { return .drop }
            self.entries[pair] = Entry(takenAt: now, waiting: isTyping)
            return .lookUp
        }
        guard now - entry.takenAt >= self.pause else { return .drop }
        entry.takenAt = now
        let isKnown = now < entry.knownUntil
        if !isKnown { entry.waiting = isTyping }
        self.entries[pair] = entry
        return isKnown ? (entry.isPeer ? .tell : .drop) : .lookUp
    }

    /// The lookup's answer.
    /// - Returns: what is told now, if anything.
    package mutating func lookedUp(_ pair: PeerPair, isPeer: Bool, at now: Int64) -> Bool? {
        // Forgotten meanwhile.
        guard let entry = self.entries[pair] else { return nil }
        let memory = isPeer ? PresenceLimits.peerKnownFor : PresenceLimits.strangerKnownFor
        self.entries[pair] = Entry(takenAt: entry.takenAt, isPeer: isPeer, knownUntil: now + memory.milliseconds)
        return isPeer ? entry.waiting : nil
    }

    /// Forgets what is worth nothing any more.
    package mutating func forget(at now: Int64) {
        self.entries = self.entries.filter { now < $0.value.knownUntil || now - $0.value.takenAt < self.pause }
    }
}
