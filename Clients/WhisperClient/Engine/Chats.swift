package import Contract

/// What the person here does to a chat as a whole. Everybody who shows chats is told.
extension WhisperClient {
    /// - Returns: whether there is such a contact.
    package func set(draft: String, with peer: WhisperID) throws(ClientStoreError) -> Bool {
        let before = try self.store.draft(with: peer)
        guard try self.store.set(draft: draft, with: peer) else { return false }
        if before ?? "" != draft { try self.tell(ofChatWith: peer) }
        return true
    }

    /// - Returns: how many messages went.
    package func clear(with peer: WhisperID, upTo number: Int64) async throws(ClientStoreError) -> Int64 {
        var count: Int64 = 0
        while true {
            let cleared = try self.store.clear(with: peer, upTo: number)
            guard cleared > 0 else { break }
            count += Int64(cleared)
            // Others have their turn between two parts.
            await Task.yield()
        }
        if count > 0 { try self.tell(ofChatWith: peer) }
        return count
    }

    /// - Parameter limit: messages of one part.
    /// - Returns: how many messages were marked.
    package func read(with peer: WhisperID, upTo number: Int64, limit: Int) async throws(ClientStoreError) -> Int64 {
        var count: Int64 = 0
        while true {
            let messages = try self.store.unread(with: peer, upTo: number, limit: limit)
            guard !messages.isEmpty else { break }
            try self.markRead(messages)
            count += Int64(messages.count)
            await Task.yield()
        }
        if count > 0 { try self.tell(ofChatWith: peer) }
        return count
    }

    private func tell(ofChatWith peer: WhisperID) throws(ClientStoreError) {
        self.publish(.passing(.chat(try self.store.chatState(with: peer))))
    }
}
