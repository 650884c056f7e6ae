import Contract
import WhisperClient

extension Verb {
    private static let link = TypedField.text(
        "link", 1...CoreLimits.profileLinkCharactersMax, about: "As `profile_share` gave it on another device.")

    static let profileJoin = Verb(
        "profile_join", of: "profiles",
        about:
            "Makes this device one of a profile, in place of the one that it had. `inUse`: a conversation of our own was made or whispered in here, or somebody stands in it. Without the right secret, or if there is no such profile, the answer is `forbidden`; so it is if the profile has \(Limits.profileMembersMax) devices.",
        [Self.link.field], type: "profile", ProfileParameters.result, errors: ProfileParameters.errors + [.inUse],
        samples: (#"{"link":"\#(Shapes.sampleProfileLink)"}"#, ProfileParameters.sample),
        .server { opened, parameters, json in
            guard let link = ProfileLink(try parameters[Self.link]) else {
                throw CoreError(.invalidField, "is no link of a profile", field: "link")
            }
            try await ProfileParameters.write(opened, &json) { try await $0.liveProfile.join(link, $0) }
        })
}
