import Contract
import WhisperClient

/// Parameters that verbs of rooms share.
enum RoomParameters {
    static let room = TypedField.lowerCaseUUID("roomId")
    static let participant = TypedField.principalID("participant", about: "A Whisper ID, or the id of a guest.")
    static let participantsMax = TypedField.integer("participantsMax", RoomLimits.participants).optional
    static let pin = TypedField.digits("pin", RoomLimits.pinCharacters, about: "Asked for besides the code.").optional
    static let codeDigits = TypedField.integer(
        "codeDigits", 0...RoomLimits.codeDigits.last!,
        about: "6, 8 or 10; 0: no code. The server may draw a longer one. Default: \(RoomLimits.codeDigitsDefault)."
    ).optional

    static func seconds(_ range: ClosedRange<Int64>) -> TypedField<Int64?> {
        TypedField.integer(
            "codeTtlSeconds", range, about: "How long the code opens the room. Default: \(RoomLimits.codeTTLDefault)."
        ).optional
    }

    /// - Parameter range: of the time that the code lives, in seconds.
    static func code(_ range: ClosedRange<Int64>) -> [Field] {
        [Self.codeDigits.field, Self.seconds(range).field, Self.pin.field]
    }

    static func code(_ parameters: Payload, _ range: ClosedRange<Int64>) throws -> RoomCodeWish {
        let digits = try parameters[Self.codeDigits] ?? RoomLimits.codeDigitsDefault
        guard RoomLimits.codeDigits.contains(digits) else {
            throw CoreError(.invalidField, "must be 0, 6, 8 or 10", field: "codeDigits")
        }
        let seconds = try parameters[Self.seconds(range)] ?? RoomLimits.codeTTLDefault
        return RoomCodeWish(digits: Int(digits), seconds: Int(seconds), pin: try parameters[Self.pin])
    }

    static let result = [Field("room", .object(Shapes.room))]
    static let sample = #"{"type":"room","room":"# + Shapes.sampleRoom + "}"
    static let sampleRoom = "{" + Shapes.sampleRoomID + "}"
    /// Errors of verbs that ask the server.
    static let errors: [CoreError.Code] = [
        .noIdentity, .offline, .unreachable, .server, .notFound, .forbidden, .rateLimited, .store,
    ]
}

extension OpenCore {
    /// Origin of links to the server.
    var origin: String { self.serverAddress.origin }

    var serverAddress: ServerAddress { (try? self.store.settings.server()) ?? .local }

    /// Adds a room that was entered.
    /// - Throws: `.notFound` if it is none.
    func writeRoom(_ id: UUIDText, _ json: inout JSONWriter) async throws {
        guard let view = await self.with({ $0.rooms[id] }) else { throw CoreError(.notFound, field: "roomId") }
        let origin = self.origin
        json.add("room", object: view) { Shapes.write($0, origin: origin, &$1) }
    }
}

extension CoreError {
    /// Errors of rooms and live conversations.
    init(of error: LiveError) {
        switch error {
        case .offline: self.init(.offline)
        case .noAnswer: self.init(.unreachable, "The server did not answer in time.")
        case .refused(.forbidden, _): self.init(.forbidden)
        case .refused(.rateLimited, _): self.init(.rateLimited)
        case .refused(.notFound, _), .notFound: self.init(.notFound)
        case .refused(.notRegistered, _): self.init(.offline)
        case .refused, .server: self.init(.server)
        case .unreachable: self.init(.unreachable)
        case .forged: self.init(.foreignKeys)
        case .nameTaken: self.init(.nameTaken, field: "name")
        case .inUse: self.init(.inUse)
        case .changed: self.init(.changed)
        case .outdated: self.init(.outdated)
        case .unreadable: self.init(.unreadable)
        case .newer: self.init(.unsupported, "A later release has written the document.")
        case .tooLong: self.init(.tooLong)
        case .store(let error): self.init(of: error)
        }
    }
}
