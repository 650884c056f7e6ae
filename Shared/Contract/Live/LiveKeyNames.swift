/// The infos of HKDF that name the keys of live conversations and profiles (contract §14.4, §14.5, §14.7, §14.11).
/// The salt is `whisper`, as of all keys here.
package enum LiveKeyNames {
    /// For keys derived from a conversation's secret.
    package static let sign = "whisper/live/sign"
    package static let enc = "whisper/live/enc"
    package static func content(_ generation: Int) -> String { "whisper/live/content/\(generation)" }

    /// For the key that seals lines, derived from a content key.
    package static let line = "whisper/live/line"

    /// For keys derived from a link's secret.
    package static let info = "whisper/live/info"
    package static let proof = "whisper/live/proof"
    package static let knock = "whisper/live/knock"

    /// For keys derived from a share's secret.
    package static let share = "whisper/live/share"
    package static let shareProof = "whisper/live/share/proof"

    /// For the proof derived from a room's secret (contract §15.2).
    package static let roomProof = "whisper/room/proof"

    /// For the key derived from the secret that both sides of a BOX compute. Both public keys follow, as they are.
    package static let box = "whisper/seal\n"
}
