package import Contract

/// Presence and typing. Both are unsigned: the server's word.
extension WhisperClient {
    // MARK: Typing

    /// Tells a peer that somebody types here, or has stopped.
    /// - Returns: `nil` if the person here does not want it told.
    package func say(typing isTyping: Bool, to peer: WhisperID) throws(SendError) -> TypingMachine.Verdict? {
        guard peer != self.id else { throw .toSelf }
        _ = try self.writable(peer)
        do {
            guard try self.store.preferences().showsTyping else { return nil }
        } catch {
            throw .store(error)
        }
        let verdict = self.typing.say(isTyping, to: peer, at: .now)
        switch verdict {
        case .now: self.sendTyping(isTyping, to: peer)
        case .later: self.rearm()
        case .known, .full: break
        }
        return verdict
    }

    private func sendTyping(_ isTyping: Bool, to peer: WhisperID) {
        guard self.session.isBound, self.token != nil else { return }
        self.write(Typing(to: peer, isTyping: isTyping), .typing)
    }

    func take(_ notification: TypingNotification) {
        guard self.mayShow(notification.from, { $0.showsTyping }),
            self.typing.heard(notification.isTyping, from: notification.from, at: .now)
        else { return }
        self.publish(.passing(.typing(notification.from, isTyping: notification.isTyping)))
        self.rearm()
    }

    func typingTick() {
        for (peer, isTyping) in self.typing.due(at: .now) { self.sendTyping(isTyping, to: peer) }
        for peer in self.typing.expired(at: .now) { self.publish(.passing(.typing(peer, isTyping: false))) }
    }

    func stopShowingTyping() {
        for peer in self.typing.disconnected() { self.publish(.passing(.typing(peer, isTyping: false))) }
    }

    // MARK: Presence

    /// Contacts whose presence is known, by their ids.
    package func presences(
        after id: WhisperID?, limit: Int
    ) -> [(id: WhisperID, state: PresenceState)] {
        let known = self.presences.map { (id: $0.key, state: $0.value, text: "\($0.key)") }
        let after = id.map { "\($0)" } ?? ""
        return known.filter { $0.text > after }.sorted { $0.text < $1.text }.prefix(limit).map { ($0.id, $0.state) }
    }

    func take(_ update: PresenceUpdate) {
        guard self.mayShow(update.whisperID, { $0.showsPresence }) else { return }
        guard self.presences[update.whisperID] != nil || self.presences.count < ClientLimits.presencesMax else {
            return
        }
        self.presences[update.whisperID] = update.state
        self.publish(.passing(.presence(update.whisperID, update.state)))
    }

    func presenceDisconnected() {
        self.presences = [:]
        self.stopShowingTyping()
    }

    private func mayShow(_ id: WhisperID, _ isWanted: (Preferences) -> Bool) -> Bool {
        do {
            guard let contact = try self.store.contacts.contact(id), !contact.isBlocked else { return false }
            return isWanted(try self.store.preferences())
        } catch {
            self.storeFailed(error)
            return false
        }
    }
}
