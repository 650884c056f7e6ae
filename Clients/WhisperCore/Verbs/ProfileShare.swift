import Contract
import WhisperClient

extension Verb {
    static let profileShare = Verb(
        "profile_share", of: "profiles",
        about:
            "Makes our profile of live conversations at the server, for other devices of the same person. They join with its link. If the setting `profiles` says `core`, the core keeps its documents from then on.",
        type: "profile", ProfileParameters.result, errors: ProfileParameters.errors,
        samples: ("{}", ProfileParameters.sample),
        .server { opened, _, json in
            try await ProfileParameters.write(opened, &json) { try await $0.profileKeeper.share($0) }
        })
}
