import Contract
import WhisperClient

extension Verb {
    private static let member = TypedField.whisperID("whisperId", about: "Id of another device of the profile.")

    static let profileRemove = Verb(
        "profile_remove", of: "profiles",
        about:
            "Takes another device out of our profile. Its streams end. It keeps what it knew: draw another secret by `profile_renew`, and begin conversations anew that it must not hear.",
        [Self.member.field], type: "removed", [Field("whisperId", .whisperID)],
        errors: ProfileParameters.errors + [.toSelf],
        samples: (
            #"{"whisperId":"WSP-AAAA-AAAA-AAAA"}"#, #"{"type":"removed","whisperId":"WSP-AAAA-AAAA-AAAA"}"#
        ),
        .server { opened, parameters, json in
            let member = try parameters[Self.member]
            guard member != opened.id else { throw CoreError(.toSelf, field: "whisperId") }
            try await opened.with { try await $0.liveProfile.remove(member, $0) }
            json.add("whisperId", member)
        })
}
