import Contract
import WhisperClient

extension EventDefinition {
    static let profileChanged = EventDefinition(
        "profileChanged",
        about:
            "Another device has written a document of our profile, or has come or gone. It may be lost: ask by `profile_get` after each `online`. A device that was taken out gets no event.",
        isKept: false,
        [
            Field("profileId", .uuid),
            Field("change", .choice(["document", "members"])),
            Field(
                "name", .choice(ProfileDocumentName.allCases.map(\.rawValue)), .optional, about: "With `document`."),
            Field("version", .integer(1...Int64.max), .optional, about: "With `document`: the one that was written."),
        ],
        sample:
            #"{"type":"profileChanged","profileId":"5b0c7a5e-2f0d-4f6b-8d55-0c4b7d1f2a61","change":"document","name":"favorites","version":3}"#
    )
}

extension EventText {
    static func write(_ change: ProfileChanged.Change, of profile: UUIDText, _ json: inout JSONWriter) {
        json.add("type", "profileChanged")
        json.add("profileId", profile)
        switch change {
        case .document(let name, let version):
            json.add("change", "document")
            json.add("name", name.rawValue)
            json.add("version", version)
        case .members: json.add("change", "members")
        }
    }
}
