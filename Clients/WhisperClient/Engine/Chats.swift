import Contract

/// The user's changes to a chat as a whole. Each is published to all subscribers.
package struct Chats: Sendable {
    let store: ClientStore

    /// - Returns: whether there is such a contact or group.
    package func set(
        draft: String, in place: Conversation, _ host: isolated some MailHost
    ) throws(ClientStoreError) -> Bool {
        let before = try self.store.draft(in: place)
        guard try self.store.set(draft: draft, in: place) else { return false }
        if before ?? "" != draft { try self.tell(of: place, host) }
        return true
    }

    /// - Returns: how many messages went.
    package func clear(
        _ place: Conversation, upTo number: Int64, _ host: isolated some MailHost
    ) async throws(ClientStoreError) -> Int64 {
        var count: Int64 = 0
        while true {
            let cleared = try self.store.clear(place, upTo: number)
            guard cleared > 0 else { break }
            count += Int64(cleared)
            // Others have their turn between two parts.
            await Task.yield()
        }
        if count > 0 { try self.tell(of: place, host) }
        return count
    }

    /// - Parameter limit: messages of one part.
    /// - Returns: how many messages were marked.
    package func read(
        _ place: Conversation, upTo number: Int64, limit: Int, _ host: isolated some MailHost
    ) async throws(ClientStoreError) -> Int64 {
        var count: Int64 = 0
        while true {
            let messages = try self.store.messages.unread(in: place, upTo: number, limit: limit)
            guard !messages.isEmpty else { break }
            try host.receipts.markRead(messages, host)
            count += Int64(messages.count)
            await Task.yield()
        }
        if count > 0 { try self.tell(of: place, host) }
        return count
    }

    /// Marks a chat for the person here. `nil` leaves a mark as it is.
    /// - Returns: how the chat stands now; `nil` if there is no such contact or group.
    package func mark(
        _ place: Conversation, isPinned: Bool?, isMuted: Bool?, _ host: isolated some MailHost
    ) throws(ClientStoreError) -> ChatState? {
        switch place {
        case .direct(let peer):
            let change = try host.contacts.update(
                peer, ContactUpdate(isPinned: isPinned, isMuted: isMuted), host)
            if case .unknown = change { return nil }
        case .group(let id):
            guard try self.store.mark(group: id, isPinned: isPinned, isMuted: isMuted) else { return nil }
        }
        try self.tell(of: place, host)
        return try self.store.chatState(of: place)
    }

    func tell(of place: Conversation, _ host: isolated some MailHost) throws(ClientStoreError) {
        host.publish(.passing(.chat(try self.store.chatState(of: place))))
    }
}
