package import Contract

/// Decides when to say that somebody here types, and how long somebody there is shown as typing.
package struct TypingMachine: Sendable {
    package typealias Instant = ContinuousClock.Instant

    private struct Said {
        var isTyping: Bool
        var at: Instant
        /// The state to send once the pause is over.
        var next: Bool?
    }

    /// Result of a request to announce typing.
    package enum Verdict: Equatable, Sendable {
        case now
        /// Once the pause is over, unless something else is said meanwhile.
        case later
        /// The peer knows it already.
        case known
        /// Too many peers are being told.
        case full
    }

    private var said: [WhisperID: Said] = [:]
    /// Peers shown as typing, and until when.
    private var shown: [WhisperID: Instant] = [:]

    package init() {}

    // MARK: Ours

    package mutating func say(_ isTyping: Bool, to peer: WhisperID, at now: Instant) -> Verdict {
        guard var said = self.said[peer] else {
            guard isTyping else { return .known }
            self.said = self.said.filter { !Self.isForgotten($0.value, at: now) }
            guard self.said.count < ClientLimits.typingPeersMax else { return .full }
            self.said[peer] = Said(isTyping: true, at: now)
            return .now
        }
        guard now >= said.at + ClientLimits.typingPause else {
            said.next = isTyping == said.isTyping ? nil : isTyping
            self.said[peer] = said
            return said.next == nil ? .known : .later
        }
        guard isTyping || said.isTyping else { return .known }
        self.said[peer] = Said(isTyping: isTyping, at: now)
        return .now
    }

    /// Announcements whose pause is over.
    package mutating func due(at now: Instant) -> [(peer: WhisperID, isTyping: Bool)] {
        var due: [(peer: WhisperID, isTyping: Bool)] = []
        for (peer, said) in self.said {
            guard let next = said.next, now >= said.at + ClientLimits.typingPause else { continue }
            self.said[peer] = Said(isTyping: next, at: now)
            due.append((peer, next))
        }
        return due
    }

    private static func isForgotten(_ said: Said, at now: Instant) -> Bool {
        let after = said.isTyping ? ClientLimits.typingShownFor : ClientLimits.typingPause
        return said.next == nil && now >= said.at + after
    }

    // MARK: Theirs

    /// - Returns: whether this is news.
    package mutating func heard(_ isTyping: Bool, from peer: WhisperID, at now: Instant) -> Bool {
        guard isTyping else { return self.shown.removeValue(forKey: peer) != nil }
        let isNew = self.shown[peer] == nil
        guard !isNew || self.shown.count < ClientLimits.typingPeersMax else { return false }
        self.shown[peer] = now + ClientLimits.typingShownFor
        return isNew
    }

    /// Peers that have sent no typing frame for too long.
    package mutating func expired(at now: Instant) -> [WhisperID] {
        let expired = self.shown.filter { $0.value <= now }.keys
        for peer in expired { self.shown[peer] = nil }
        return Array(expired)
    }

    package var nextWake: Instant? {
        let waiting = self.said.values.compactMap { $0.next == nil ? nil : $0.at + ClientLimits.typingPause }
        return (waiting + self.shown.values).min()
    }

    /// - Returns: the peers that were shown as typing.
    package mutating func disconnected() -> [WhisperID] {
        defer { self = TypingMachine() }
        return Array(self.shown.keys)
    }
}
