import Contract

/// What one connection holds and attends. Absent on all that never did, so that an idle client costs nothing.
final class LiveParticipation {
    /// Streams whose content it may send.
    var held: [ConversationID] = []
    /// Conversations that it has joined.
    var attended: [ConversationID] = []
    /// Rooms in which it is a participant's.
    var rooms: [UUIDText] = []
    var unread = UnreadContent()
}

/// A participant's connection in a room.
struct RoomEntered: Hashable {
    var room: UUIDText
    var connection: ConnectionID
}

extension Connection {
    /// Whose it is.
    var principal: PrincipalID? {
        if let guest = self.machine.guest { return .guest(guest.id) }
        return self.session.map { .identity($0.caller.identity) }
    }
}
