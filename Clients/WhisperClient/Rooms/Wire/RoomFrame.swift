package import Contract

/// The frames about rooms that this client writes (contract §15.1).
enum RoomFrame {
    struct Create: ClientPayload {
        static let type = "room_create"
        var protocolVersion = Version.protocolVersion
        var cryptoVersion = Version.cryptoVersion
        var sessionToken: String
        var roomId: String
        var signPublicKey: String
        var encPublicKey: String
        var participantsMax: Int
        var codeDigits: Int
        var codeTtlSeconds: Int
        var pin: String?
        var linkVerifier: String?

        init(_ wish: RoomWish, keys: PublicKeys, token: String) {
            self.sessionToken = token
            self.roomId = "\(wish.room)"
            self.signPublicKey = Base64.text(keys.sign.bytes)
            self.encPublicKey = Base64.text(keys.box.bytes)
            self.participantsMax = wish.participantsMax
            self.codeDigits = wish.code.digits
            self.codeTtlSeconds = wish.code.seconds
            self.pin = wish.code.pin
            self.linkVerifier = wish.secret.map { Base64.text($0.verifier) }
        }
    }

    struct Join: ClientPayload {
        static let type = "room_join"
        var protocolVersion = Version.protocolVersion
        var cryptoVersion = Version.cryptoVersion
        var sessionToken: String
        var roomId: String?
        var code: String?
        var pin: String?
        var linkProof: String?
        var signPublicKey: String
        var encPublicKey: String

        init(_ key: RoomKey, keys: PublicKeys, token: String) {
            self.sessionToken = token
            self.signPublicKey = Base64.text(keys.sign.bytes)
            self.encPublicKey = Base64.text(keys.box.bytes)
            switch key {
            case .seat(let room): self.roomId = "\(room)"
            case .code(let code, let pin): (self.code, self.pin) = (code.text, pin)
            case .link(let room, let secret):
                (self.roomId, self.linkProof) = ("\(room)", Base64.text(secret.proof))
            }
        }
    }

    struct Signal: ClientPayload {
        static let type = RoomSignature.type
        var protocolVersion = Version.protocolVersion
        var cryptoVersion = Version.cryptoVersion
        var sessionToken: String
        var roomId: String
        var kind: String
        var to: String
        var from: String
        var timestamp: Int64
        var nonce: String
        var ciphertext: String
        var sig: String

        init(_ kind: RoomSignalKind, _ signal: LiveSigned, to peer: PrincipalID, in room: UUIDText, token: String) {
            self.sessionToken = token
            self.roomId = "\(room)"
            self.kind = kind.rawValue
            self.to = "\(peer)"
            self.from = "\(signal.from)"
            self.timestamp = signal.timestamp.milliseconds
            self.nonce = Base64.text(signal.nonce)
            self.ciphertext = Base64.text(signal.ciphertext)
            self.sig = Base64.text(signal.signature.bytes)
        }
    }

    struct Code: ClientPayload {
        static let type = "room_code"
        var protocolVersion = Version.protocolVersion
        var cryptoVersion = Version.cryptoVersion
        var sessionToken: String
        var roomId: String
        var codeDigits: Int
        var codeTtlSeconds: Int
        var pin: String?

        init(_ wish: RoomWish.Code, of room: UUIDText, token: String) {
            self.sessionToken = token
            self.roomId = "\(room)"
            self.codeDigits = wish.digits
            self.codeTtlSeconds = wish.seconds
            self.pin = wish.pin
        }
    }

    struct Remove: ClientPayload {
        static let type = "room_remove"
        var protocolVersion = Version.protocolVersion
        var cryptoVersion = Version.cryptoVersion
        var sessionToken: String
        var roomId: String
        var participant: String

        init(_ participant: PrincipalID, from room: UUIDText, token: String) {
            self.sessionToken = token
            self.roomId = "\(room)"
            self.participant = "\(participant)"
        }
    }

    struct Leave: ClientPayload {
        static let type = "room_leave"
        var protocolVersion = Version.protocolVersion
        var cryptoVersion = Version.cryptoVersion
        var sessionToken: String
        var roomId: String

        init(_ room: UUIDText, token: String) { (self.roomId, self.sessionToken) = ("\(room)", token) }
    }

    struct Close: ClientPayload {
        static let type = "room_close"
        var protocolVersion = Version.protocolVersion
        var cryptoVersion = Version.cryptoVersion
        var sessionToken: String
        var roomId: String

        init(_ room: UUIDText, token: String) { (self.roomId, self.sessionToken) = ("\(room)", token) }
    }

    struct Poke: ClientPayload {
        static let type = "room_poke"
        var protocolVersion = Version.protocolVersion
        var cryptoVersion = Version.cryptoVersion
        var sessionToken: String
        var roomId: String

        init(_ room: UUIDText, token: String) { (self.roomId, self.sessionToken) = ("\(room)", token) }
    }

    struct List: ClientPayload {
        static let type = "room_list"
        var protocolVersion = Version.protocolVersion
        var cryptoVersion = Version.cryptoVersion
        var sessionToken: String

        init(token: String) { self.sessionToken = token }
    }
}

/// A room as its host wants it.
package struct RoomWish: Sendable {
    package struct Code: Sendable {
        /// 6, 8 or 10; 0: none. The server may draw a longer one.
        package var digits: Int
        package var seconds: Int
        /// 4 to 12 digits that are asked for besides the code.
        package var pin: String?

        package init(
            digits: Int = Int(RoomLimits.codeDigitsDefault), seconds: Int = Int(RoomLimits.codeTTLDefault),
            pin: String? = nil
        ) {
            self.digits = digits
            self.seconds = seconds
            self.pin = pin
        }
    }

    package let room: UUIDText
    package var participantsMax: Int
    package var code: Code
    /// Of a link that opens the room; `nil`: it has none.
    package var secret: RoomSecret?

    package init(
        room: UUIDText = .random(), participantsMax: Int = Int(RoomLimits.participantsDefault), code: Code = Code(),
        secret: RoomSecret?
    ) {
        self.room = room
        self.participantsMax = participantsMax
        self.code = code
        self.secret = secret
    }
}

/// By what a room is entered.
package enum RoomKey: Sendable {
    case code(JoinCode, pin: String?)
    case link(UUIDText, RoomSecret)
    /// We have a seat there.
    case seat(UUIDText)
}
