import Contract
import WhisperClient

extension Verb {
    static let profileStatus = Verb(
        "profile_status", of: "profiles",
        about: "Says, without the server, how this device stands to its profile.", type: "profileStatus",
        [
            Field("isShared", .bool, about: "Whether what is here is left for other devices."),
            Field(
                "owed",
                .array(
                    of: .choice(ProfileDocumentName.allCases.map(\.rawValue)),
                    count: 0...ProfileDocumentName.allCases.count),
                about: "Documents with changes that the server does not have."),
            Field(
                "members", .array(of: .whisperID, count: 0...Limits.profileMembersMax),
                about: "Its devices, as the server has said last. Empty until it has."),
            Field(
                "isStale", .bool,
                about: "Another device has taken this one out, or has renewed the secret: join by its new link."),
        ], errors: [.noIdentity, .store],
        samples: (
            "{}",
            #"{"type":"profileStatus","isShared":true,"owed":["whisper"],"members":["WSP-AAAA-AAAA-AAAA"],"isStale":false}"#
        ),
        .client { opened, _, json in
            let (members, isStale) = await opened.with { ($0.profileKeeper.members, $0.profileKeeper.isStale) }
            json.add("isShared", try opened.live.isProfileShared())
            json.add("owed", strings: try opened.live.owedDocuments().keys.map(\.rawValue).sorted())
            json.add("members", strings: members.map { "\($0)" })
            json.add("isStale", isStale)
        })
}
