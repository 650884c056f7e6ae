import Contract
import WhisperClient

extension Verb {
    private static let after = TypedField.whisperID("after", about: "The last stranger of the page before.").optional

    static let requestList = Verb(
        "request_list", of: "requests",
        about: "Lists strangers who wrote first and were not answered, \(CoreLimits.listMax) at a time, by their ids.",
        [Self.after.field], type: "requests",
        [
            Field("contacts", .array(of: .object(Shapes.contact), count: 0...CoreLimits.listMax)),
            Field("hasMore", .bool),
        ], errors: [.noIdentity, .store],
        samples: (
            "{}",
            #"{"type":"requests","contacts":[{"whisperId":"WSP-AAAA-AAAA-AAAA","isStranger":true,"isPinned":false,"isMuted":false,"isBlocked":false,"isBanned":false,"addedAt":1767225600000,"signPublicKey":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=","encPublicKey":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}],"hasMore":false}"#
        ),
        .read { opened, parameters, json in
            let page = try opened.store.contacts.strangers(
                after: try parameters[Self.after], limit: CoreLimits.listMax + 1)
            json.add("contacts", objects: page.prefix(CoreLimits.listMax)) { Shapes.write($0, &$1) }
            json.add("hasMore", page.count > CoreLimits.listMax)
        })
}
