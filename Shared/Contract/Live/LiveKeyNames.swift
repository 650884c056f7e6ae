/// The infos of HKDF that name the keys of live conversations and profiles (contract §14.4, §14.5, §14.7, §14.11).
/// The salt is `whisper`, as of all keys here.
package enum LiveKeyNames {
    /// Derived from a conversation's secret.
    package static let sign = "whisper/live/sign"
    package static let enc = "whisper/live/enc"
    package static func content(_ generation: Int) -> String { "whisper/live/content/\(generation)" }

    /// Derived from a content key.
    package static let line = "whisper/live/line"

    /// Derived from a link's secret.
    package static let info = "whisper/live/info"
    package static let proof = "whisper/live/proof"
    package static let knock = "whisper/live/knock"

    /// Derived from a share's secret.
    package static let share = "whisper/live/share"
    package static let shareProof = "whisper/live/share/proof"

    /// Derived from a room's secret (contract §15.2).
    package static let roomProof = "whisper/room/proof"

    /// Derived from the secret that both sides of a BOX compute. Both public keys follow, as they are.
    package static let box = "whisper/seal\n"
}
