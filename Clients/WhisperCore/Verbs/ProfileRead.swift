import Contract
import WhisperClient

extension Verb {
    static let profileRead = Verb(
        "profile_read", of: "profiles",
        about:
            "Reads what the devices of our profile have left for each other under a name. `notFound`: nothing yet, or this device is in no profile. `outdated`: show it loudly, the server gives out what was replaced.",
        [ProfileParameters.name.field], type: "document",
        ProfileParameters.written + [
            Field("content", .text(0...Limits.profileDocumentBytesMax), about: "As a device has written it.")
        ], errors: ProfileParameters.errors + [.outdated, .unreadable],
        samples: (
            #"{"name":"settings"}"#,
            #"{"type":"document",\#(ProfileParameters.sampleWritten),"content":"dark"}"#
        ),
        .server { opened, parameters, json in
            let name = try parameters[ProfileParameters.name]
            let document = try await opened.with { try await $0.liveProfile.document(name, $0) }
            ProfileParameters.write(document, &json)
            json.add("content", document.content)
        })
}
