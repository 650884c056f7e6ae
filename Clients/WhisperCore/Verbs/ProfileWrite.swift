import Contract
import WhisperClient

extension Verb {
    private static let version = TypedField.integer(
        "version", 0...Int64.max, about: "Version of the document that was read here, or 0 if there is none.")
    private static let content = TypedField.text(
        "content", 0...Limits.profileDocumentBytesMax,
        about:
            "Content that the devices agree on, for example JSON. The server cannot read it. `tooLong`: written as JSON and sealed it has more than \(Limits.profileDocumentBytesMax) bytes."
    )

    static let profileWrite = Verb(
        "profile_write", of: "profiles",
        about:
            "Leaves something for the other devices of our profile, which get the event `profileChanged`. `managed`: the setting `profiles` says `core`, which writes the documents. `changed`: another device was faster, or an earlier answer was lost. Then read, merge and write again.",
        [ProfileParameters.name.field, Self.version.field, Self.content.field], type: "written",
        ProfileParameters.written, errors: ProfileParameters.errors + [.changed, .tooLong, .managed],
        samples: (
            #"{"name":"settings","version":2,"content":"dark"}"#,
            #"{"type":"written",\#(ProfileParameters.sampleWritten)}"#
        ),
        .server { opened, parameters, json in
            let (name, text) = (try parameters[ProfileParameters.name], try parameters[Self.content])
            let seen = try parameters[Self.version]
            guard try !opened.store.preferences().fillsProfile else { throw CoreError(.managed) }
            let document = try await opened.with { try await $0.liveProfile.write(text, as: name, over: seen, $0) }
            ProfileParameters.write(document, &json)
        })
}
