import Contract
import WhisperClient

extension Verb {
    private static let member = TypedField.whisperID("whisperId", about: "Id of another device of the profile.")

    static let profileRemove = Verb(
        "profile_remove", of: "profiles",
        about:
            "Takes another device out of our profile, and renews the profile as `profile_renew` does: the device cannot join again, and the other devices join by the new link. Its streams end. It keeps what it knew: begin conversations anew that it must not hear.",
        [Self.member.field], type: "removed", [Field("whisperId", .whisperID), ProfileParameters.renewedLink],
        errors: ProfileParameters.errors + [.toSelf],
        samples: (
            #"{"whisperId":"WSP-AAAA-AAAA-AAAA"}"#,
            #"{"type":"removed","whisperId":"WSP-AAAA-AAAA-AAAA","link":"\#(Shapes.sampleProfileLink)"}"#
        ),
        .server { opened, parameters, json in
            let member = try parameters[Self.member]
            guard member != opened.id else { throw CoreError(.toSelf, field: "whisperId") }
            let link = try await opened.with { try await $0.liveProfile.expel(member, $0) }
            json.add("whisperId", member)
            json.add("link", link?.text)
        })
}
