import Contract
import WhisperClient

/// Parts that the verbs of profiles share.
enum ProfileParameters {
    static let result = [Field("profile", .object(Shapes.profile))]
    static let sample = #"{"type":"profile","profile":"# + Shapes.sampleProfile + "}"
    static let errors: [CoreError.Code] = RoomParameters.errors

    static let renewedLink = Field(
        "link", .text(1...CoreLimits.profileLinkCharactersMax), .optional,
        about:
            "The new link of the profile. Absent: the device is out, but the profile is not renewed yet. Ask for `profile_renew`."
    )

    static let name = TypedField<ProfileDocumentName>.choice(
        "name", about: "Name of a document; the server knows these names.")
    static let written = [
        Self.name.field, Field("version", .integer(1...Int64.max), about: "Counts its writings."),
        Field("updatedAt", .timestamp),
    ]
    static let sampleWritten = #""name":"settings","version":3,"updatedAt":1767225600000"#

    static func write(_ document: ProfileDocument, _ json: inout JSONWriter) {
        json.add("name", document.name.rawValue)
        json.add("version", document.version)
        json.add("updatedAt", document.updatedAt)
    }

    static func write(
        _ opened: OpenCore, _ json: inout JSONWriter,
        _ command: @Sendable (isolated WhisperClient) async throws -> SharedProfile
    ) async throws {
        let profile = try await opened.with(command)
        let link = try await opened.with { try $0.liveProfile.link() }
        json.add("profile", object: profile) { Shapes.write($0, link, &$1) }
    }
}

extension Shapes {
    static let profile = ObjectSchema([
        Field("profileId", .uuid),
        Field(
            "link", .text(1...CoreLimits.profileLinkCharactersMax),
            about: "With its secret: for another device of the same person, never for a log."),
        Field(
            "members",
            .array(
                of: .object(ObjectSchema([Field("whisperId", .whisperID), Field("joinedAt", .timestamp)])),
                count: 0...Limits.profileMembersMax), about: "Its devices, the first one first."),
        Field(
            "documents",
            .array(
                of: .object(
                    ObjectSchema([
                        Field("name", .choice(ProfileDocumentName.allCases.map(\.rawValue))),
                        Field("version", .integer(1...Int64.max)), Field("updatedAt", .timestamp),
                        Field("bytes", .integer(0...Int64.max), about: "Sealed."),
                    ])), count: 0...ProfileDocumentName.allCases.count),
            about: "Documents that the devices have left for each other. From `profile_get`."),
    ])

    static func write(_ profile: SharedProfile, _ link: ProfileLink, _ json: inout JSONWriter) {
        json.add("profileId", link.id)
        json.add("link", link.text)
        json.add("members", objects: profile.members) { member, json in
            json.add("whisperId", member.id)
            json.add("joinedAt", member.joinedAt)
        }
        json.add("documents", objects: profile.documents) { document, json in
            json.add("name", document.name.rawValue)
            json.add("version", document.version)
            json.add("updatedAt", document.updatedAt)
            json.add("bytes", document.bytes)
        }
    }

    static let sampleProfileLink =
        "whisper://profile/5b0c7a5e-2f0d-4f6b-8d55-0c4b7d1f2a61#AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"

    static let sampleProfile =
        #"{"profileId":"5b0c7a5e-2f0d-4f6b-8d55-0c4b7d1f2a61","link":"\#(Self.sampleProfileLink)","members":[{"whisperId":"WSP-AAAA-AAAA-AAAA","joinedAt":1767225600000}],"documents":[]}"#
}
