import Contract

/// Streams that one connection holds and attends. A connection that never did has none, so that an idle client costs nothing.
final class LiveParticipation {
    /// Streams whose content it may send.
    var held: [ConversationID] = []
    /// Conversations that it has joined.
    var attended: [ConversationID] = []
    var unread = UnreadContent()
}

extension Connection {
    /// The identity or guest of the connection.
    var principal: PrincipalID? {
        if let guest = self.machine.guest { return .guest(guest.id) }
        return self.session.map { .identity($0.caller.identity) }
    }
}
