package import Contract

/// Decides when one client is told about one peer: at most once in `pause`; what changes meanwhile is told at its end, in
/// its latest state, unless that is what the client believes already.
///
/// A pair is remembered for one `pause` after it was told, and no longer: the peer's own router tells only changes.
package struct PresencePairs {
    private struct Entry {
        var toldAt: Int64
        /// The state sent last on this connection of the listener; `nil` if it is not known.
        var isToldOnline: Bool?
        /// To be told at the end of the pause.
        var next: PresenceState?
    }

    package struct Update: Hashable, Sendable {
        package var listener: WhisperID
        package var about: WhisperID
        package var state: PresenceState
    }

    private let pause: Int64
    private let pairsMax: Int
    private var listeners: [WhisperID: [WhisperID: Entry]] = [:]
    private var count = 0
    /// When each pause began, in that order; those that have ended are in front of `head`.
    private var pauses: [(listener: WhisperID, about: WhisperID, toldAt: Int64)] = []
    private var head = 0
    /// Listeners whose previous router may have sent them anything, until `inheritedUntil`.
    private var inherited: Set<WhisperID> = []
    private var inheritedUntil: Int64 = 0

    package init(_ configuration: PresenceConfiguration, pairsMax: Int = PresenceLimits.pairsToldMax) {
        self.pause = configuration.pause.milliseconds
        self.pairsMax = pairsMax
    }

    package var pairs: Int { self.count }

    /// Nothing is told or forgotten before the next news.
    var isAtRest: Bool { self.head == self.pauses.count && self.inherited.isEmpty }

    /// The listener has a new connection, which knows nothing yet.
    package mutating func bound(_ listener: WhisperID) {
        self.inherited.remove(listener)
        guard var known = self.listeners[listener] else { return }
        for about in known.keys { known[about]!.isToldOnline = nil }
        self.listeners[listener] = known
    }

    /// The listener's connection was another router's, which may have told it something a moment ago.
    package mutating func inherited(_ listener: WhisperID, at now: Int64) {
        self.inherited.insert(listener)
        self.inheritedUntil = now + self.pause
    }

    /// News about a peer of a listener who is connected.
    /// - Returns: whether it is told now.
    package mutating func heard(
        _ state: PresenceState, about: WhisperID, by listener: WhisperID, at now: Int64
    ) -> Bool {
        if let entry = self.listeners[listener]?[about] {
            self.listeners[listener]![about]!.next = entry.isToldOnline == (state == .online) ? nil : state
            return false
        }
        guard self.count < self.pairsMax else { return false }
        let isInherited = now < self.inheritedUntil && self.inherited.contains(listener)
        self.listeners[listener, default: [:]][about] = Entry(
            toldAt: now, isToldOnline: isInherited ? nil : state == .online, next: isInherited ? state : nil)
        self.count += 1
        self.pauses.append((listener, about, now))
        return !isInherited
    }

    /// Updates that are due at the end of a pause.
    package mutating func due(at now: Int64) -> [Update] {
        if now >= self.inheritedUntil { self.inherited = [] }
        var updates: [Update] = []
        while self.head < self.pauses.count, now - self.pauses[self.head].toldAt >= self.pause {
            let (listener, about, toldAt) = self.pauses[self.head]
            self.head += 1
            guard let entry = self.listeners[listener]?[about], entry.toldAt == toldAt else { continue }
            if let next = entry.next {
                updates.append(Update(listener: listener, about: about, state: next))
                self.listeners[listener]![about] = Entry(toldAt: now, isToldOnline: next == .online)
                self.pauses.append((listener, about, now))
            } else {
                self.listeners[listener]![about] = nil
                if self.listeners[listener]!.isEmpty { self.listeners[listener] = nil }
                self.count -= 1
            }
        }
        if self.head * 2 > self.pauses.count {
            self.pauses.removeFirst(self.head)
            self.head = 0
        }
        return updates
    }

    /// Forgets listeners who are another router's now.
    /// - Returns: what they were to be told at the end of a pause.
    @discardableResult
    package mutating func keep(_ isOurs: (WhisperID) -> Bool) -> [Update] {
        var untold: [Update] = []
        for (listener, entries) in self.listeners where !isOurs(listener) {
            for (about, entry) in entries {
                if let next = entry.next { untold.append(Update(listener: listener, about: about, state: next)) }
            }
        }
        self.listeners = self.listeners.filter { isOurs($0.key) }
        self.count = self.listeners.values.reduce(0) { $0 + $1.count }
        return untold
    }
}
