import Contract
import WhisperClient

extension Verb {
    private static let after = TypedField.whisperID(
        "after", about: "The last contact of the page before."
    ).optional

    static let contactList = Verb(
        "contact_list", of: "contacts",
        about:
            "Lists contacts by name, \(CoreLimits.listMax) at a time: those without a name last. Strangers are in `request_list`.",
        [Self.after.field], type: "contacts",
        [
            Field("contacts", .array(of: .object(Shapes.contact), count: 0...CoreLimits.listMax)),
            Field("hasMore", .bool),
        ], errors: [.noIdentity, .notFound, .store],
        samples: ("{}", #"{"type":"contacts","contacts":[],"hasMore":false}"#),
        .read { opened, parameters, json in
            var contacts = try opened.store.contacts.contacts().filter { !$0.isStranger }[...]
            if let after = try parameters[Self.after] {
                guard let place = contacts.firstIndex(where: { $0.id == after }) else {
                    throw CoreError(.notFound, field: "after")
                }
                contacts = contacts[(place + 1)...]
            }
            json.add("contacts", objects: contacts.prefix(CoreLimits.listMax)) { Shapes.write($0, &$1) }
            json.add("hasMore", contacts.count > CoreLimits.listMax)
        })
}
