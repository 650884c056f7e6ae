/// A group as clients see it, in `group_event` and `groups` (contract §6).
package struct GroupDescription: ObjectValue {
    package struct Member: ObjectValue {
        package let whisperID: WhisperID
        package let role: GroupRole
        package let joinedAt: Timestamp

        private static let whisperID = TypedField.whisperID("whisperId")
        private static let role = TypedField<GroupRole>.choice("role")
        private static let joinedAt = TypedField.timestamp("joinedAt")

        static let schema = ObjectSchema([Self.whisperID.field, Self.role.field, Self.joinedAt.field])

        package init(whisperID: WhisperID, role: GroupRole, joinedAt: Timestamp) {
            self.whisperID = whisperID
            self.role = role
            self.joinedAt = joinedAt
        }

        init(_ payload: Payload) throws(Payload.Corrupted) {
            self.whisperID = try payload[Self.whisperID]
            self.role = try payload[Self.role]
            self.joinedAt = try payload[Self.joinedAt]
        }

        var json: [UInt8] {
            var json = JSONWriter(capacity: 96)
            json.add(Self.whisperID, self.whisperID)
            json.add(Self.role, self.role)
            json.add(Self.joinedAt, self.joinedAt)
            return json.finished()
        }
    }

    package let groupID: UUIDText
    package let title: String
    package let ownerID: WhisperID
    package let createdAt: Timestamp
    package let updatedAt: Timestamp
    package let revision: Int64
    package let members: [Member]

    private static let groupID = TypedField.groupID("groupId")
    private static let title = TypedField.text("title", Limits.groupTitleCharacters)
    private static let ownerID = TypedField.whisperID("ownerId")
    private static let createdAt = TypedField.timestamp("createdAt")
    private static let updatedAt = TypedField.timestamp("updatedAt")
    private static let revision = TypedField.integer(
        "revision", 1...Limits.numberMax, about: "Grows with every change; an older one is old news.")
    private static let members = TypedField<[Member]>.objects("members", count: 0...Limits.groupMembersMax)

    static let schema = ObjectSchema([
        Self.groupID.field, Self.title.field, Self.ownerID.field, Self.createdAt.field, Self.updatedAt.field,
        Self.revision.field, Self.members.field,
    ])

    static let sample =
        #"{"groupId":"grp-3d6f1f0e-8a55-4c7e-9d55-0c4b7d1f2a61","title":"Hiking","ownerId":"WSP-JBPU-D452-TLT4","createdAt":1730000000000,"updatedAt":1730000000000,"revision":1,"members":[{"whisperId":"WSP-JBPU-D452-TLT4","role":"owner","joinedAt":1730000000000},{"whisperId":"WSP-AAAA-AAAA-AAAA","role":"member","joinedAt":1730000000000}]}"#

    package init(
        groupID: UUIDText, title: String, ownerID: WhisperID, createdAt: Timestamp, updatedAt: Timestamp,
        revision: Int64, members: [Member]
    ) {
        self.groupID = groupID
        self.title = title
        self.ownerID = ownerID
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.revision = revision
        self.members = members
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.groupID = try payload[Self.groupID]
        self.title = try payload[Self.title]
        self.ownerID = try payload[Self.ownerID]
        self.createdAt = try payload[Self.createdAt]
        self.updatedAt = try payload[Self.updatedAt]
        self.revision = try payload[Self.revision]
        self.members = try payload[Self.members]
    }

    package var json: [UInt8] {
        var json = JSONWriter(capacity: 256 + 96 * self.members.count)
        json.add(Self.groupID, self.groupID)
        json.add(Self.title, self.title)
        json.add(Self.ownerID, self.ownerID)
        json.add(Self.createdAt, self.createdAt)
        json.add(Self.updatedAt, self.updatedAt)
        json.add(Self.revision, self.revision)
        json.add(Self.members, self.members)
        return json.finished()
    }
}
