/// The message that the signature of a signal between two participants covers (contract §14.5, §15.2).
package enum RoomSignature {
    /// The type line, also of the seal (`LiveSeals.signal`).
    package static let type = "room_signal"

    /// The bytes that are signed with the sender's own key. `nonce` and `ciphertext` are as the frame has them.
    package static func message(_ signal: LiveSigned, to peer: PrincipalID, in room: UUIDText) -> CanonicalMessage {
        CanonicalMessage(
            type: Self.type, messageID: "\(room)", from: "\(signal.from)", toOrGroupID: "\(peer)",
            timestamp: signal.timestamp.milliseconds, nonce: Base64.text(signal.nonce),
            ciphertext: Base64.text(signal.ciphertext))
    }
}
