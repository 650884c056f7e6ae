import Contract
import WhisperClient

extension Verb {
    private static let name = TypedField.text(
        "name", TalkLimits.nameScalars, about: "Absent: none. Control characters in it are left out."
    ).optional

    static let roomName = Verb(
        "room_name", of: "rooms",
        about:
            "How others in rooms see us, from the next connections on. The server never learns it, and the core forgets it when it closes.",
        [Self.name.field], type: "named", [Field("name", .text(TalkLimits.nameScalars), .optional)],
        errors: [.noIdentity], samples: (#"{"name":"Ann"}"#, #"{"type":"named","name":"Ann"}"#),
        .client { opened, parameters, json in
            let wish = try parameters[Self.name]
            let name = wish.flatMap { TalkName.cleaned($0) }
            guard wish == nil || name != nil else {
                throw CoreError(.invalidField, "has nothing that can be seen", field: "name")
            }
            await opened.client.with { $0.rooms.set(name: name) }
            json.add("name", name)
        })
}
