import Contract

/// Frames of a host, and of all rooms (contract §15.1).
extension RoomFrame {
    struct Update: ClientPayload {
        static let type = "room_update"
        var protocolVersion = Version.protocolVersion
        var cryptoVersion = Version.cryptoVersion
        var sessionToken: String
        var roomId: String
        var host: String?
        var participantsMax: Int?
        var isLocked: Bool?

        init(_ room: UUIDText, host: PrincipalID?, participantsMax: Int?, isLocked: Bool?, token: String) {
            self.sessionToken = token
            self.roomId = "\(room)"
            self.host = host.map { "\($0)" }
            self.participantsMax = participantsMax
            self.isLocked = isLocked
        }
    }

    struct Purge: ClientPayload {
        static let type = "room_purge"
        var protocolVersion = Version.protocolVersion
        var cryptoVersion = Version.cryptoVersion
        var sessionToken: String

        init(token: String) { self.sessionToken = token }
    }

    struct Turn: ClientPayload {
        static let type = "room_turn"
        var protocolVersion = Version.protocolVersion
        var cryptoVersion = Version.cryptoVersion
        var sessionToken: String
        var roomId: String

        init(_ room: UUIDText, token: String) { (self.roomId, self.sessionToken) = ("\(room)", token) }
    }
}
