import Contract
import WhisperClient

extension Verb {
    static let profileLeave = Verb(
        "profile_leave", of: "profiles",
        about:
            "Takes this device out of its profile, and forgets its conversations here; it gets another. With the last device the server deletes the profile, its documents and its conversations.",
        type: "left", errors: ProfileParameters.errors + [.inUse], samples: ("{}", #"{"type":"left"}"#),
        .server { opened, _, _ in try await opened.with { try await $0.liveProfile.remove(nil, $0) } })
}
