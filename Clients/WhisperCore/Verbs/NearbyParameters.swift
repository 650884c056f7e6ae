import Contract
import WhisperClient

/// Parts that the verbs of nearby phones share.
enum NearbyParameters {
    static let peer = TypedField.text("peer", 1...64, about: "As `nearby_list` has it.")
    /// As we are shown without a title.
    static let defaultTitle = "Whisper"

    static func peer(_ parameters: Payload) throws -> NearbyPeer { NearbyPeer(name: try parameters[Self.peer]) }
}

extension CoreError {
    init(of error: NearbyError) {
        switch error {
        case .noID: self.init(.offline, "The server has given no Whisper ID yet. Connect once.")
        case .isOn, .isOff: self.init(.wrongStage)
        case .unknownPhone: self.init(.notFound, field: "peer")
        case .notConnected: self.init(.wrongStage, field: "peer")
        case .isOurs: self.init(.unsupported, "This phone is one of us: use message_send.", field: "peer")
        }
    }
}
