/// Fields that frames of rooms share, with their samples.
enum RoomFields {
    static let room = TypedField.lowerCaseUUID("roomId")
    static let participant = TypedField.principalID("participant")
    static let host = TypedField.principalID("host", about: "Who may change the room.")
    static let to = TypedField.principalID("to", about: "Another participant.")
    static let participantsMax = TypedField.integer("participantsMax", RoomLimits.participants)
    static let isLocked = TypedField.bool("isLocked", about: "Nobody new may join.")
    static let code = TypedField.digits("code", RoomLimits.codeCharacters)
    static let codeExpiresAt = TypedField.timestamp("codeExpiresAt")
    static let codeDigits = TypedField.integer(
        "codeDigits", 0...RoomLimits.codeDigits.last!,
        about: "0: no code. The server may draw a longer one. Default: \(RoomLimits.codeDigitsDefault).")
    static let pin = TypedField.digits("pin", RoomLimits.pinCharacters)
    static let kind = TypedField<RoomSignalKind>.choice("kind")

    static let sampleRoom = #""roomId":"0b6d8f0e-3c1a-4f5e-9a77-2d1c0b9a8f7e""#

    static let notFound: (code: ErrorCode, when: String) = (.notFound, "There is no such room for this caller.")
    static let notHost: (code: ErrorCode, when: String) = (.forbidden, "The caller is not the host.")
}

/// The kind of a signal between two participants (contract §15.1).
package enum RoomSignalKind: String, CaseIterable, Sendable {
    case offer, answer, candidate
    /// The one with the lower seat offers anew.
    case restart
    case bye
}
