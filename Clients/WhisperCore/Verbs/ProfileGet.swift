import Contract
import WhisperClient

extension Verb {
    static let profileGet = Verb(
        "profile_get", of: "profiles",
        about:
            "Asks for the devices of our profile, and what they have left for each other. `notFound`: it was not shared, or another device has taken this one out.",
        type: "profile", ProfileParameters.result, errors: ProfileParameters.errors,
        samples: ("{}", ProfileParameters.sample),
        .server { opened, _, json in
            try await ProfileParameters.write(opened, &json) { try await $0.liveProfile.shared($0) }
        })
}
