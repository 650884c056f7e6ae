package import Contract

/// Frames about rooms, built from the keys that they show.
extension RoomCreate {
    init(_ wish: RoomWish, keys: PublicKeys) {
        self.init(
            wish.room, signPublicKey: keys.sign, encPublicKey: keys.box, participantsMax: wish.participantsMax,
            code: wish.code, linkVerifier: wish.secret.flatMap { Bytes32($0.verifier) })
    }
}

extension RoomJoin {
    init(_ key: RoomKey, keys: PublicKeys) {
        let key: Key =
            switch key {
            case .seat(let room): .room(room, linkProof: nil)
            case .code(let code, let pin): .code(code, pin: pin)
            case .link(let room, let secret): .room(room, linkProof: Bytes32(secret.proof))
            }
        self.init(key, signPublicKey: keys.sign, encPublicKey: keys.box)
    }
}

/// A room as its host wants it.
package struct RoomWish: Sendable {
    package let room: UUIDText
    package var participantsMax: Int
    package var code: RoomCodeWish
    /// The secret of the room's link; `nil`: the room has none.
    package var secret: RoomSecret?

    package init(
        room: UUIDText = .random(), participantsMax: Int = Int(RoomLimits.participantsDefault),
        code: RoomCodeWish = RoomCodeWish(),
        secret: RoomSecret?
    ) {
        self.room = room
        self.participantsMax = participantsMax
        self.code = code
        self.secret = secret
    }
}

/// The key that opens a room.
package enum RoomKey: Sendable {
    case code(JoinCode, pin: String?)
    case link(UUIDText, RoomSecret)
    /// Our own seat in the room.
    case seat(UUIDText)
}
