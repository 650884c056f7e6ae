import Contract
import WhisperClient

extension Verb {
    private static let whisperID = TypedField.whisperID("whisperId")

    static let contactSafety = Verb(
        "contact_safety", of: "contacts",
        about: "Gives the number that both people see if each has the true keys of the other. Compare it by voice.",
        [Self.whisperID.field], type: "safety",
        [Field("number", .text(71...71), about: "\(SafetyNumber.groups) groups of five digits.")],
        errors: [.noIdentity, .unknownContact, .store],
        samples: (
            #"{"whisperId":"WSP-AAAA-AAAA-AAAA"}"#,
            #"{"type":"safety","number":"00000 11111 22222 33333 44444 55555 66666 77777 88888 99999 00000 11111"}"#
        ),
        .read { opened, parameters, json in
            guard let contact = try opened.store.contacts.contact(try parameters[Self.whisperID]) else {
                throw CoreError(.unknownContact)
            }
            json.add("number", SafetyNumber.text(opened.profile.keys.publicKeys, contact.keys))
        })
}
