import Contract
import TerminalText
import WhisperClient
import WhisperCore

/// How a visit ended.
enum RoomEnd: Sendable {
    /// The user left.
    case left
    case over(MeshMachine.End)
    case stopped(StopReason)
}

/// A room in a list.
func describe(_ room: ListedRoom) -> [String] {
    let lock = room.isLocked ? ", locked" : ""
    return ["\(room.id)  \(room.participants.count) of \(room.participantsMax)\(lock)"]
        + room.participants.map { participant in
            let seat = "seat \(participant.seat)" + (participant.id == room.host ? ", host" : "")
            return "  \(participant.isConnected ? "●" : "○") \(participant.id) (\(seat))"
        }
}

/// Words for a participant about a change.
/// - Parameter isOwn: whether it concerns the reader.
func describe(_ event: RoomEvent.Event, _ participant: String, isOwn: Bool) -> String {
    switch event {
    case .joined: "+ \(participant) has come in."
    case .left: "- \(participant) left."
    case .removed: "- \(participant) was removed."
    case .away: "○ \(participant) is away."
    case .back: "● \(participant) is back."
    case .host: isOwn ? "● You host the room now." : "● \(participant) hosts the room now."
    case .updated: "● The room was changed."
    case .closed: "○ The room was closed."
    }
}

func describe(_ end: MeshMachine.End) -> String {
    switch end {
    case .left: "You have left."
    case .closed: "The room was closed."
    case .removed: "The host removed you."
    case .notFound: "There is no such room any more, or you have no seat there."
    case .broken: "The server does not take what this client says."
    }
}

/// What the core says of a room that was not entered.
func describe(entering refusal: CoreClient.Refusal) -> String {
    switch CoreError.Code(rawValue: refusal.code) {
    case .notFound: "That code doesn't open a room. It may be mistyped, already used or expired."
    case .invalidField where refusal.field == "link": "That is a link of another server."
    case .busy: "Another program of this profile is in this room already."
    default: describe(room: refusal)
    }
}

/// What the core says of a room that was not changed.
func describe(room refusal: CoreClient.Refusal) -> String {
    switch CoreError.Code(rawValue: refusal.code) {
    case .notFound: "There is no such room here, or you have no seat in it."
    case .forbidden: "The server refuses: the room is full or locked, or somebody else hosts it."
    case .rateLimited: "Too many tries. Wait a minute."
    default: describe(live: refusal)
    }
}
