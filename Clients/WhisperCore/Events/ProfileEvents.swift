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

extension EventDefinition {
    static let conversationsChanged = EventDefinition(
        "conversationsChanged",
        about:
            "Another device of our profile has changed conversations of ours, or those that we listen to: see `live_known`.",
        isKept: false, sample: #"{"type":"conversationsChanged"}"#)

    static let favoritesChanged = EventDefinition(
        "favoritesChanged", about: "Another device of our profile has changed favorites: see `favorite_list`.",
        isKept: false, sample: #"{"type":"favoritesChanged"}"#)

    private static let name = Field("name", .choice(ProfileDocumentName.allCases.map(\.rawValue)))

    static let profileFull = EventDefinition(
        "profileFull",
        about:
            "A document of our profile has no room for all that is here. Values that were used longest ago stay on this device. Comes once a day at most.",
        isKept: false, [Self.name], sample: #"{"type":"profileFull","name":"whisper"}"#)

    static let profileForeign = EventDefinition(
        "profileForeign",
        about:
            "Another program, or a later release, has written a document of our profile. It is not written over, and what changes here stays here. A person may decide otherwise by `profile_repair`.",
        isKept: false, [Self.name, Field("isNewer", .bool, about: "Of a later release: what is known of it is read.")],
        sample: #"{"type":"profileForeign","name":"favorites","isNewer":false}"#)

    static let profileRolledBack = EventDefinition(
        "profileRolledBack",
        about:
            "Show it loudly: the server gives out a document of our profile that was replaced, or withholds a later one that another device has seen. It is neither taken nor written over. If the server was restored from a backup, a person may decide so by `profile_repair`.",
        isKept: false, [Self.name], sample: #"{"type":"profileRolledBack","name":"whisper"}"#)
}

extension EventText {
    static func write(_ news: ProfileDocumentNews, of name: ProfileDocumentName, _ json: inout JSONWriter) {
        switch news {
        case .conversations: json.add("type", "conversationsChanged")
        case .favorites: json.add("type", "favoritesChanged")
        case .full: json.add("type", "profileFull")
        case .foreign, .newer: json.add("type", "profileForeign")
        case .rolledBack: json.add("type", "profileRolledBack")
        }
        if news != .conversations, news != .favorites { json.add("name", name.rawValue) }
        if news == .foreign || news == .newer { json.add("isNewer", news == .newer) }
    }

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
