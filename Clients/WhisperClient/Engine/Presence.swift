package import Contract

/// Presence and typing. Both are unsigned: the server's word.
package final class Presence {
    private let store: ClientStore
    private var typing = TypingMachine()
    /// Presence of contacts, as the server reports it. Empty without a connection.
    private var states: [WhisperID: PresenceState] = [:]

    init(store: ClientStore) { self.store = store }

    var nextWake: ContinuousClock.Instant? { self.typing.nextWake }

    /// The user does not want to see some of it any more.
    func forget(_ hidden: Preferences, _ host: isolated some ServerHost) {
        if !hidden.showsPresence { self.states = [:] }
        if !hidden.showsTyping { self.stopShowingTyping(host) }
    }

    // MARK: Typing

    /// Tells a peer that somebody types here, or has stopped.
    /// - Returns: `nil` if the person here does not want it told.
    package func say(
        typing isTyping: Bool, to peer: WhisperID, _ host: isolated some ServerHost
    ) throws(SendError) -> TypingMachine.Verdict? {
        guard peer != host.id else { throw .toSelf }
        _ = try self.store.contacts.writable(peer)
        do {
            guard try self.store.preferences().showsTyping else { return nil }
        } catch {
            throw .store(error)
        }
        let verdict = self.typing.say(isTyping, to: peer, at: .now)
        switch verdict {
        case .now: self.sendTyping(isTyping, to: peer, host)
        case .later: host.rearm()
        case .known, .full: break
        }
        return verdict
    }

    private func sendTyping(_ isTyping: Bool, to peer: WhisperID, _ host: isolated some ServerHost) {
        guard host.isOnline, host.token != nil else { return }
        host.write(Typing(to: peer, isTyping: isTyping), .typing)
    }

    func take(_ notification: TypingNotification, _ host: isolated some ServerHost) {
        guard self.mayShow(notification.from, { $0.showsTyping }, host),
            self.typing.heard(notification.isTyping, from: notification.from, at: .now)
        else { return }
        host.publish(.passing(.typing(notification.from, isTyping: notification.isTyping)))
        host.rearm()
    }

    func tick(_ host: isolated some ServerHost) {
        for (peer, isTyping) in self.typing.due(at: .now) { self.sendTyping(isTyping, to: peer, host) }
        for peer in self.typing.expired(at: .now) { host.publish(.passing(.typing(peer, isTyping: false))) }
    }

    private func stopShowingTyping(_ host: isolated some ServerHost) {
        for peer in self.typing.disconnected() { host.publish(.passing(.typing(peer, isTyping: false))) }
    }

    // MARK: Presence

    /// Contacts whose presence is known, by their ids.
    package func known(
        after id: WhisperID?, limit: Int
    ) -> [(id: WhisperID, state: PresenceState)] {
        let known = self.states.map { (id: $0.key, state: $0.value, text: "\($0.key)") }
        let after = id.map { "\($0)" } ?? ""
        return known.filter { $0.text > after }.sorted { $0.text < $1.text }.prefix(limit).map { ($0.id, $0.state) }
    }

    func take(_ update: PresenceUpdate, _ host: isolated some ServerHost) {
        guard self.mayShow(update.whisperID, { $0.showsPresence }, host) else { return }
        guard self.states[update.whisperID] != nil || self.states.count < ClientLimits.presencesMax else {
            return
        }
        self.states[update.whisperID] = update.state
        host.publish(.passing(.presence(update.whisperID, update.state)))
    }

    func disconnected(_ host: isolated some ServerHost) {
        self.states = [:]
        self.stopShowingTyping(host)
    }

    private func mayShow(_ id: WhisperID, _ isWanted: (Preferences) -> Bool, _ host: isolated some ServerHost) -> Bool {
        host.withStore {
            guard let contact = try self.store.contacts.contact(id), !contact.isBlocked else { return false }
            return isWanted(try self.store.preferences())
        } ?? false
    }
}
