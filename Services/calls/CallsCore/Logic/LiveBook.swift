package import Contract

/// The live conversations that one process has in memory, of the shares that it owns. A batch changes it, and is then either
/// committed or taken back.
package struct LiveBook: Sendable {
    package struct Change: Sendable {
        package var before: LiveMachine?
        package var after: LiveMachine?
    }

    private var conversations: [ConversationID: LiveMachine] = [:]
    /// As they were before the batch.
    private var undo: [ConversationID: LiveMachine?] = [:]

    package init() {}

    package var all: some Collection<LiveMachine> { self.conversations.values }
    package subscript(id: ConversationID) -> LiveMachine? { self.conversations[id] }

    /// Changes a conversation, or adds it, or with nil deletes it. Can be taken back until `commit`.
    package mutating func put(_ conversation: LiveMachine?, at id: ConversationID) {
        if self.undo.index(forKey: id) == nil { self.undo.updateValue(self.conversations[id], forKey: id) }
        self.conversations[id] = conversation
    }

    package var changes: [Change] {
        self.undo.compactMap { id, before in
            let after = self.conversations[id]
            return before == after ? nil : Change(before: before, after: after)
        }
    }

    package mutating func commit() { self.undo = [:] }

    package mutating func takeBack() {
        for (id, before) in self.undo { self.conversations[id] = before }
        self.undo = [:]
    }

    /// From the tables.
    package mutating func load(_ conversation: LiveMachine) { self.conversations[conversation.id] = conversation }

    /// Forgets what is somebody else's now, or quiet. It stays in the tables.
    package mutating func keep(_ isKept: (LiveMachine) -> Bool) {
        for (id, conversation) in self.conversations where !isKept(conversation) { self.conversations[id] = nil }
    }
}
