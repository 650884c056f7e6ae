/// "Your profile is different now." May be lost: clients ask `GET /profiles/{profileId}` after each bind (contract §14.4).
package struct ProfileChanged: ServerFrame {
    package enum Change: Equatable, Sendable {
        case document(ProfileDocumentName, version: Int64)
        case members
    }

    /// In lower case.
    package let profileID: UUIDText
    package let change: Change

    private static let profileID = TypedField.lowerCaseUUID("profileId")
    private static let change = TypedField.word("change", of: ["document", "members"])
    private static let name = TypedField<ProfileDocumentName>.choice("name", about: "With `document`.").optional
    private static let version = TypedField.integer(
        "version", 1...Limits.numberMax, about: "With `document`: the one that was written."
    ).optional

    package static let definition = ServerFrameDefinition(
        "profile_changed",
        about: """
            Another device has written a document of the profile, or its members are others now. Goes to all members but the one who \
            did it. It may be lost, and two of them may come in another order.
            """,
        fields: [Self.profileID.field, Self.change.field, Self.name.field, Self.version.field],
        samples: [
            #"{"profileId":"5b0c7a5e-2f0d-4f6b-8d55-0c4b7d1f2a61","change":"document","name":"whisper","version":7}"#,
            #"{"profileId":"5b0c7a5e-2f0d-4f6b-8d55-0c4b7d1f2a61","change":"members"}"#,
        ])

    package init(profileID: UUIDText, change: Change) {
        self.profileID = profileID
        self.change = change
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.profileID = try payload[Self.profileID]
        switch (try payload[Self.change], try payload[Self.name], try payload[Self.version]) {
        case ("document", let name?, let version?): self.change = .document(name, version: version)
        case ("members", _, _): self.change = .members
        default: throw Payload.Corrupted()
        }
    }

    package var json: [UInt8] {
        var json = JSONWriter()
        json.add(Self.profileID, self.profileID)
        switch self.change {
        case .document(let name, let version):
            json.add(Self.change, "document")
            json.add(Self.name, name)
            json.add(Self.version, version)
        case .members:
            json.add(Self.change, "members")
        }
        return json.finished()
    }
}
