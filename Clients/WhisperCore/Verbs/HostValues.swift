import Contract
import WhisperClient

extension Verb {
    private static let key = TypedField.text(
        "key", 1...ClientLimits.hostKeyCharactersMax, about: "A name of the host's.")
    private static let value = TypedField.text(
        "value", 0...ClientLimits.hostValueBytesMax,
        about: "Any text of at most \(ClientLimits.hostValueBytesMax) bytes. An empty one removes the key.")

    static let hostGet = Verb(
        "host_get", of: "upkeep", about: "Gives what the host has kept here, for example the looks of a window.",
        type: "host",
        [
            Field(
                "values",
                .array(
                    of: .object(
                        ObjectSchema([
                            Field("key", .text(1...ClientLimits.hostKeyCharactersMax)),
                            Field("value", .text(1...ClientLimits.hostValueBytesMax)),
                        ])), count: 0...ClientLimits.hostValuesMax))
        ], errors: [.noIdentity, .store],
        samples: ("{}", #"{"type":"host","values":[{"key":"theme","value":"dark"}]}"#),
        .read { opened, _, json in
            json.add("values", objects: try opened.store.hostValues()) { pair, json in
                json.add("key", pair.key)
                json.add("value", pair.value)
            }
        })

    static let hostSet = Verb(
        "host_set", of: "upkeep",
        about:
            "Keeps a text for the host on this device: \(ClientLimits.hostValuesMax) keys. The backup has none of them.",
        [Self.key.field, Self.value.field], type: "hostSet", errors: [.noIdentity, .tooLong, .tooMany, .store],
        samples: (#"{"key":"theme","value":"dark"}"#, #"{"type":"hostSet"}"#),
        .store { _, opened, parameters, _ in
            let value = try parameters[Self.value]
            guard value.utf8.count <= ClientLimits.hostValueBytesMax else {
                throw CoreError(.tooLong, "has too many bytes", field: "value")
            }
            guard try opened.profile.store.setHostValue(value, of: try parameters[Self.key]) else {
                throw CoreError(.tooMany, field: "key")
            }
        })
}
