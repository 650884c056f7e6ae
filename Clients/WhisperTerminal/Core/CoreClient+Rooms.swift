import Contract
import Dispatch
import WhisperClient
import WhisperCore

/// How somebody comes into a room.
enum RoomDoor: Sendable {
    /// It is a new one.
    case new(RoomWish)
    case code(String, pin: String?)
    case link(String, of: UUIDText)
    /// We have a seat there.
    case seat(UUIDText)
}

/// A room that was entered.
struct EnteredRoom: Sendable {
    var view: RoomView
    /// Opens the room. It holds a secret.
    var link: String?

    var id: UUIDText { self.view.room.room }

    fileprivate init?(_ json: JSONMembers) {
        guard let view = RoomView(json) else { return nil }
        (self.view, self.link) = (view, json.string("link"))
    }
}

/// Being in a room.
extension CoreClient {
    /// How long coming in may take. The core asks again meanwhile.
    private static var entering: DispatchTime { .now() + .seconds(60) }

    /// Comes in. From here on the core leaves the room when this command has gone, however it ends.
    /// - Throws: a `Refusal` with the code `busy` if another program is in the room.
    func enter(_ door: RoomDoor) async throws -> EnteredRoom {
        switch door {
        case .new(let wish):
            try await self.hold(wish.room, isEntered: false)
            return try await self.enter("room_create") { json in
                json.add("roomId", wish.room)
                json.add("participantsMax", Int64(wish.participantsMax))
                json.add("codeDigits", Int64(wish.code.digits))
                json.add("codeTtlSeconds", wish.code.ttl.components.seconds)
                json.add("pin", wish.code.pin)
            }
        case .code(let code, let pin):
            // Which room it is, only its answer says.
            let room = try await self.enter("room_join") { json in
                json.add("code", code)
                json.add("pin", pin)
            }
            try await self.hold(room.id, isEntered: true)
            return room
        case .link(let link, let id):
            try await self.hold(id, isEntered: false)
            return try await self.enter("room_join") { json in json.add("link", link) }
        case .seat(let id):
            try await self.hold(id, isEntered: false)
            return try await self.enter("room_join") { json in json.add("roomId", id) }
        }
    }

    private func enter(_ verb: String, _ write: (inout JSONWriter) -> Void) async throws -> EnteredRoom {
        let entered = try await self.answered(verb, until: Self.entering, write)
        guard let room = entered.object("room").flatMap({ EnteredRoom($0) }) else { throw Self.strange }
        return room
    }

    private func hold(_ room: UUIDText, isEntered: Bool) async throws {
        _ = try await self.answered("room_hold") { json in
            json.add("roomId", room)
            json.add("isEntered", isEntered)
        }
    }

    /// Reports an event of the WebRTC stack about connection `number` to a participant.
    func report(_ report: LinkReport, of peer: PrincipalID, number: Int, in room: UUIDText) async throws {
        _ = try await self.answered("room_signal") { json in
            json.add("roomId", room)
            json.add("to", "\(peer)")
            json.add("link", Int64(number))
            switch report {
            case .offer(let sdp):
                json.add("kind", "offer")
                json.add("sdp", sdp)
            case .answer(let sdp):
                json.add("kind", "answer")
                json.add("sdp", sdp)
            case .candidate(let candidate):
                json.add("kind", "candidate")
                json.add("candidate", candidate.candidate)
                if let index = candidate.sdpMLineIndex { json.add("sdpMLineIndex", Int64(index)) }
                json.add("sdpMid", candidate.sdpMid)
            case .connected: json.add("kind", "connected")
            case .failed: json.add("kind", "failed")
            case .low: json.add("kind", "low")
            }
        }
    }
}
