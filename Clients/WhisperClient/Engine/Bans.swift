import Contract

/// A ban pauses the outbox: its messages are kept apart until the person here decides.
extension WhisperClient {
    func banned(_ ban: Ban) {
        self.outbox.pause()
        self.groupOutbox.pause()
        // The connection has ended for good already: nothing is left to stop.
        do { try self.store.settings.begin(ban) } catch { self.logger.error("a ban could not be kept") }
    }

    /// The server lets us in. Where nothing waits, there is nothing to decide.
    func banEnded() {
        do {
            try self.store.settings.endBan()
            if try self.store.settings.isOutboxPaused(), try self.store.waitingChats(limit: 1).isEmpty {
                try self.letGo()
            }
        } catch {
            self.storeFailed(error)
        }
    }

    /// Sends what was kept apart.
    package func resumeOutbox() throws(ClientStoreError) {
        try self.letGo()
        self.pump()
    }

    /// Gives up what waits, in all chats, also what was written after the ban.
    /// - Returns: how many messages.
    package func discardOutbox() throws(ClientStoreError) -> Int {
        var (count, before) = (0, [Conversation]())
        while true {
            // A message in flight is not cancelled, and its chat stays in the list.
            let places = try self.store.waitingChats(limit: ClientLimits.waitingChatsMax).map(\.place)
            guard !places.isEmpty, places != before else { break }
            for place in places {
                switch place {
                case .direct(let peer): count += try self.cancel(to: peer).count
                case .group(let id): count += try self.cancel(inGroup: id).count
                }
            }
            before = places
        }
        try self.letGo()
        return count
    }

    private func letGo() throws(ClientStoreError) {
        try self.store.settings.resumeOutbox()
        self.outbox.resume()
        self.groupOutbox.resume()
    }
}
