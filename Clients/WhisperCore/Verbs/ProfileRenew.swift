import Contract
import WhisperClient

extension Verb {
    static let profileRenew = Verb(
        "profile_renew", of: "profiles",
        about:
            "Draws another secret for our profile and seals its documents anew. `profile_remove` does so by itself; it is to be done again if its answer has no link. The other devices join again by the new one. Repeat it if there is no answer.",
        type: "profile", ProfileParameters.result,
        errors: ProfileParameters.errors + [.changed, .outdated, .unreadable],
        samples: ("{}", ProfileParameters.sample),
        .server { opened, _, json in
            try await ProfileParameters.write(opened, &json) { try await $0.liveProfile.renew($0) }
        })
}
