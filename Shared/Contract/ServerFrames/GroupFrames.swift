/// What happens to groups (contract §6).
package enum GroupFrames {
    private static let ids = FieldType.array(of: .whisperID, count: 0...Limits.groupMembersMax)

    package static let group = ObjectSchema([
        Field("groupId", .groupID), Field("title", .text(Limits.groupTitleCharacters)), Field("ownerId", .whisperID),
        Field("createdAt", .timestamp), Field("updatedAt", .timestamp),
        Field("revision", .integer(1...Int64.max), about: "Grows with every change; an older one is old news."),
        Field(
            "members",
            .array(
                of: .object(
                    ObjectSchema([
                        Field("whisperId", .whisperID), Field("role", .choice(GroupRole.allCases.map(\.rawValue))),
                        Field("joinedAt", .timestamp),
                    ])), count: 0...Limits.groupMembersMax)),
    ])

    private static let sample =
        #"{"groupId":"grp-3d6f1f0e-8a55-4c7e-9d55-0c4b7d1f2a61","title":"Hiking","ownerId":"WSP-JBPU-D452-TLT4","createdAt":1730000000000,"updatedAt":1730000000000,"revision":1,"members":[{"whisperId":"WSP-JBPU-D452-TLT4","role":"owner","joinedAt":1730000000000},{"whisperId":"WSP-AAAA-AAAA-AAAA","role":"member","joinedAt":1730000000000}]}"#

    package static let event = ServerFrameDefinition(
        "group_event",
        about: """
            A group is new or has changed: for the one who did it, with `requestId`, for all members, and for whoever was \
            removed. A member who was away gets the latest one of each group when binding: those of own groups first, and more when \
            these are confirmed. They wait for 30 days.
            """,
        answers: ["group_create", "group_update"],
        fields: [
            Field("event", .choice(["created", "updated"])), Field("group", .object(Self.group)),
            Field("actor", .whisperID, about: "Who did it."), Field("added", Self.ids), Field("removed", Self.ids),
        ],
        samples: [
            #"{"event":"created","group":\#(Self.sample),"actor":"WSP-JBPU-D452-TLT4","added":["WSP-AAAA-AAAA-AAAA"],"removed":[]}"#
        ])

    package static let groups = ServerFrameDefinition(
        "groups",
        about: """
            A page of the groups that the caller is a member of: first those that it owns, then those where it is an admin, then \
            the rest; each part by age of membership, the oldest first. It also ends before the whole frame would pass \
            \(Limits.pageBytesMax) bytes. A group where the caller's role changes meanwhile may come twice.
            """,
        answers: ["group_list"],
        fields: [
            Field("groups", .array(of: .object(Self.group), count: 0...Limits.groupListMax)),
            Field("nextCursor", .text(Limits.cursorCharacters), .optional, about: "Only when there is more."),
        ],
        samples: [
            #"{"groups":[\#(Self.sample)]}"#,
            #"{"groups":[\#(Self.sample)],"nextCursor":"g2-3d6f1f0e8a554c7e9d550c4b7d1f2a61192cc091400000000000000002a"}"#,
        ])
}
