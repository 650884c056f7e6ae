import Contract
import WhisperClient

extension Verb {
    static let profileRenew = Verb(
        "profile_renew", of: "profiles",
        about:
            "Draws another secret for our profile and seals its documents anew. To be done after `profile_remove`: whoever was taken out knows the link of before, and could join by it. The other devices join again by the new one. Repeat it if there is no answer.",
        type: "profile", ProfileParameters.result,
        errors: ProfileParameters.errors + [.changed, .outdated, .unreadable],
        samples: ("{}", ProfileParameters.sample),
        .server { opened, _, json in
            try await ProfileParameters.write(opened, &json) { try await $0.liveProfile.renew($0) }
        })
}
