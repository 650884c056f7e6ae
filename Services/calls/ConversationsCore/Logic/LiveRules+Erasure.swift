package import Contract

extension LiveRules {
    /// An identity or guest was erased: the conversation names it no longer (contract §20.3). Doing it twice changes nothing.
    package mutating func erased(_ listener: PrincipalID, from id: ConversationID) {
        self.endWithoutProfile(id)
        guard var conversation = self.book[id], let heir = self.facts.members[conversation.profile]?.min() else {
            return
        }
        let before = conversation
        if case .identity(let identity) = listener, conversation.stream?.holder == identity {
            self.end(&conversation, because: .stopped, by: nil)
        }
        conversation.waitsNoLonger(listener)
        conversation.attendances[listener] = nil
        if conversation.listeners.removeValue(forKey: listener) != nil {
            self.tellHolder(of: listener, .left, in: conversation)
        }
        // Grants of the erased device are void: their listeners wait until another device grants anew.
        for (id, row) in conversation.listeners where row.grant?.from == listener {
            conversation.listeners[id]?.grant = nil
            conversation.listeners[id]?.generation = 0
        }
        if case .identity(let identity) = listener {
            if conversation.lastHolder == identity { conversation.lastHolder = nil }
            if conversation.creator == identity { conversation.creator = heir }
        }
        if conversation != before { self.put(conversation) }
    }
}
