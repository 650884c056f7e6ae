import Contract

extension Verb {
    static let schema = Verb(
        "schema", of: "upkeep", about: "Gives all verbs and events, as OpenRPC.", type: "schema",
        [
            Field(
                "openrpc", .object(ObjectSchema([Field("openrpc", .text(1...20))])),
                about: "The document of `docs/core.json`.")
        ],
        samples: ("{}", #"{"type":"schema","openrpc":{"openrpc":"1.3.2"}}"#),
        .look { _, _, json in json.add("openrpc", json: OpenRPC.text.utf8) })
}
