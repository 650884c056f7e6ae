/// The messages that the signatures of live conversations cover (contract §14.5, §19.12).
package enum LiveSignature: Equatable, Sendable {
    /// The type line.
    package enum FrameType: String, CaseIterable, Sendable {
        case create = "live_create"
        case update = "live_update"
        case knock = "live_knock"
        case grant = "live_grant"
        case refuse = "live_refuse"
    }

    /// With the conversation's key.
    case create(profile: UUIDText)
    /// With the conversation's key.
    case update(profile: UUIDText)
    /// With the listener's own key.
    case knock
    /// With the conversation's key. Each grant of a frame has a signature of its own.
    case grant(to: PrincipalID)
    /// With the conversation's key.
    case refuse(to: PrincipalID)

    package var type: FrameType {
        switch self {
        case .create: .create
        case .update: .update
        case .knock: .knock
        case .grant: .grant
        case .refuse: .refuse
        }
    }

    /// The bytes that are signed.
    /// - Parameters:
    ///   - nonce: of the seal or BOX, as text of the frame; `ciphertext` likewise.
    package func message(
        of conversation: ConversationID, from: PrincipalID, timestamp: Timestamp, nonce: String, ciphertext: String
    ) -> CanonicalMessage {
        let about =
            switch self {
            case .create(let profile), .update(let profile): "\(profile)"
            case .knock: "\(conversation)"
            case .grant(let listener), .refuse(let listener): "\(listener)"
            }
        return CanonicalMessage(
            type: self.type.rawValue, messageID: "\(conversation)", from: "\(from)", toOrGroupID: about,
            timestamp: timestamp.milliseconds, nonce: nonce, ciphertext: ciphertext)
    }
}

/// Statements about a conversation that are inside seals and have a proof of their own. Signers and verifiers take the
/// SHA-256 of the bytes first.
package enum LiveStatement {
    /// A completed line, signed with the conversation's key (contract §14.9).
    /// - Parameter textDigest: SHA-256 of the line's text in UTF-8.
    package static func line(
        _ number: Int, textDigest: [UInt8], of conversation: ConversationID, content: UUIDText
    ) -> [UInt8] {
        let digest = String(decoding: Base64.encode(textDigest), as: UTF8.self)
        return LiveSeals.lines(["live_line", "\(conversation)", "\(content)", "\(number)", digest])
    }

    /// That a listener belongs to a profile, signed with the profile's key (contract §14.7, §19.13).
    package static func membership(of listener: PrincipalID, in conversation: ConversationID) -> [UInt8] {
        LiveSeals.lines(["live_profile", "\(conversation)", "\(listener)"])
    }

    /// The input of the HMAC that is a knock's tag (contract §14.7). It has no version line.
    package static func knock(by listener: PrincipalID, on conversation: ConversationID, at time: Timestamp) -> [UInt8]
    {
        Array("\(conversation)\n\(listener)\n\(time.milliseconds)\n".utf8)
    }
}
