package import ClusterContract
package import Contract

/// Decides what peers are told about an identity that connects or leaves, and when.
///
/// An absence shorter than `offlineAfter` is not told. An identity is told about at most once in `pause`, in its latest
/// state. Only pending transitions are remembered: identities that connect, leave, or were told about lately. All
/// others are online if and only if they have a session. Times are the caller's clock in milliseconds.
package struct PresenceMachine {
    /// A change of state to announce to an identity's peers.
    package struct Change: Hashable, Sendable {
        package var identity: WhisperID
        package var state: PresenceState
    }

    private let offlineAfter: Int64
    private let pause: Int64
    private let entriesMax: Int
    private var entries: [WhisperID: PendingTransition] = [:]

    package init(_ configuration: PresenceConfiguration, entriesMax: Int = PresenceLimits.pendingTransitionsMax) {
        self.offlineAfter = configuration.offlineAfter.milliseconds
        self.pause = configuration.pause.milliseconds
        self.entriesMax = entriesMax
    }

    package var pendingTransitions: Int { self.entries.count }

    /// An identity that had no session has opened one.
    /// - Parameter notBefore: nobody is told earlier: whoever comes right after a takeover may never have been away long
    ///   enough, which only the router before would know.
    package mutating func came(_ identity: WhisperID, at now: Int64, notBefore: Int64 = .min) {
        if self.entries[identity] != nil {
            self.entries[identity]!.isPresent = true
        } else if self.entries.count < self.entriesMax {
            self.entries[identity] = PendingTransition(
                identity, isPresent: true, leftAt: now, isToldOnline: false, notBefore: notBefore)
        }
    }

    /// A gateway says that an identity has a session, which is none that was just opened. It did not come; but if we took it
    /// for gone, it is not.
    package mutating func announced(_ identity: WhisperID) {
        self.entries[identity]?.isPresent = true
    }

    /// An identity has no session any more.
    package mutating func left(_ identity: WhisperID, at now: Int64) {
        if let entry = self.entries[identity] {
            // A race: two ways of noticing the same.
            guard entry.isPresent else { return }
            self.entries[identity]!.isPresent = false
            self.entries[identity]!.leftAt = now
        } else if self.entries.count < self.entriesMax {
            self.entries[identity] = PendingTransition(
                identity, isPresent: false, leftAt: now, isToldOnline: true, notBefore: .min)
        }
    }

    /// The state for peers that ask now: the one that all others believe. If it is about to change, they get the
    /// announcement with all others.
    package func isOnline(_ identity: WhisperID, hasSession: Bool) -> Bool {
        self.entries[identity]?.isToldOnline ?? hasSession
    }

    /// Changes to announce now, at most `limit`. They count as announced.
    package mutating func changes(at now: Int64, limit: Int = .max) -> [Change] {
        var changes: [Change] = []
        var settled: [WhisperID] = []
        var index = self.entries.startIndex
        while index != self.entries.endIndex {
            defer { index = self.entries.index(after: index) }
            let (identity, entry) = self.entries[index]
            // Perhaps it comes back in time.
            guard entry.isPresent || now - entry.leftAt >= self.offlineAfter, now >= entry.notBefore else { continue }
            if entry.isPresent == entry.isToldOnline {
                settled.append(identity)
            } else if changes.count < limit {
                changes.append(
                    Change(
                        identity: identity,
                        state: entry.isPresent
                            ? .online : .offline(lastSeen: Timestamp(milliseconds: entry.leftAt))))
                self.entries.values[index].isToldOnline = entry.isPresent
                self.entries.values[index].notBefore = now + self.pause
            }
        }
        for identity in settled { self.entries[identity] = nil }
        return changes
    }

    /// These could not be told after all: they are due again.
    package mutating func untold(_ changes: [Change]) {
        for change in changes where self.entries[change.identity] != nil {
            self.entries[change.identity]!.isToldOnline = change.state == .online ? false : true
            self.entries[change.identity]!.notBefore = .min
        }
    }

    /// Forgets identities of other routers' partitions.
    /// - Returns: their transitions, for the next owner.
    @discardableResult
    package mutating func keep(_ isOurs: (WhisperID) -> Bool) -> [PendingTransition] {
        let others = self.entries.values.filter { !isOurs($0.identity) }
        for other in others { self.entries[other.identity] = nil }
        return others
    }

    /// Takes the transitions of the previous owner. This router's own entries are newer and stay.
    package mutating func inherit(_ transitions: [PendingTransition]) {
        for entry in transitions where self.entries[entry.identity] == nil && self.entries.count < self.entriesMax {
            self.entries[entry.identity] = entry
        }
    }
}
