/// "You are in these groups." Answers a `group_list`, a page at a time (contract §6).
package struct Groups: ServerFrame {
    package let groups: [GroupDescription]
    /// The cursor of the next `group_list`; `nil` at the end.
    package let nextCursor: String?

    private static let groups = TypedField<[GroupDescription]>.objects("groups", count: 0...Limits.groupListMax)
    private static let nextCursor = TypedField.text(
        "nextCursor", Limits.cursorCharacters, about: "Only when there is more."
    ).optional

    package static let definition = ServerFrameDefinition(
        "groups",
        about: """
            A page of the groups that the caller is a member of: first those that it owns, then those where it is an admin, then \
            the rest; each part by age of membership, the oldest first. It also ends before the whole frame would pass \
            \(Limits.pageBytesMax) bytes. A group where the caller's role changes meanwhile may come twice.
            """,
        answers: ["group_list"],
        fields: [Self.groups.field, Self.nextCursor.field],
        samples: [
            #"{"groups":[\#(GroupDescription.sample)]}"#,
            #"{"groups":[\#(GroupDescription.sample)],"nextCursor":"g2-3d6f1f0e8a554c7e9d550c4b7d1f2a61192cc091400000000000000002a"}"#,
        ])

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.groups = try payload[Self.groups]
        self.nextCursor = try payload[Self.nextCursor]
    }

    package var json: [UInt8] {
        Self.json(groups: self.groups.map(\.json), nextCursor: self.nextCursor)
    }

    /// The payload around groups that are written already, because their sizes decide where the page ends.
    package static func json(groups: [[UInt8]], nextCursor: String?) -> [UInt8] {
        var json = JSONWriter(capacity: groups.reduce(128) { $0 + $1.count + 1 })
        json.add(Self.groups, written: groups)
        json.add(Self.nextCursor, nextCursor)
        return json.finished()
    }
}
