import Contract
import WhisperClient

extension Shapes {
    static let groupRole = FieldType.choice(GroupRole.allCases.map(\.rawValue))

    static let group = ObjectSchema([
        Field("groupId", .groupID, about: "In lower case. Chats of groups have it as their name."),
        Field("title", .text(0...Limits.groupTitleCharacters.upperBound), about: "Empty until the server has told it."),
        Field("isMember", .bool, about: "Whether we are in it. A member who has left keeps the messages."),
        Field("members", .integer(0...Int64(Limits.groupMembersMax)), about: "How many; `group_members` names them."),
        Field("revision", .integer(0...Int64.max), about: "Grows with every change."),
        Field(
            "newcomers", .array(of: .whisperID, count: 1...Limits.groupMembersMax), .optional,
            about: "Members whom nobody vouches for. Show them: nothing goes to them before `group_admit`."),
        Field(
            "needsConsent", .bool, .optional,
            about: "Beside `newcomers`: all other members are verified, so the person must be asked."),
        Field("createdAt", .timestamp), Field("updatedAt", .timestamp),
    ])

    static func write(_ group: Group, _ json: inout JSONWriter) {
        json.add("groupId", group.id)
        json.add("title", group.title)
        json.add("isMember", group.isMember)
        json.add("members", Int64(group.members.count))
        json.add("revision", group.revision)
        if !group.newcomers.isEmpty {
            json.add("newcomers", strings: group.newcomers.map { "\($0)" })
            json.add("needsConsent", group.areOthersVerified)
        }
        json.add("createdAt", group.createdAt)
        json.add("updatedAt", group.updatedAt)
    }

    static let groupSample =
        #"{"groupId":"grp-3d6f1f0e-8a55-4c7e-9d55-0c4b7d1f2a61","title":"Hiking","isMember":true,"members":2,"revision":1,"createdAt":1767225600000,"updatedAt":1767225600000}"#

    static let member = ObjectSchema([
        Field("whisperId", .whisperID),
        Field("name", .text(0...10_000), .optional, about: "For a contact: the name here."),
        Field("role", Self.groupRole), Field("joinedAt", .timestamp),
        Field(
            "hasKeys", .bool,
            about: "Whether their keys are pinned here. Others are asked for when something goes to them."),
    ])

    /// How one member's copy of a message stands.
    static let delivery = ObjectSchema([
        Field("whisperId", .whisperID),
        Field("state", .choice(["queued", "sending", "sent", "delivered", "read", "expired", "failed"])),
        Field("reason", .choice(FailureReason.allCases.map(\.rawValue)), .optional, about: "Why it has failed."),
    ])

    static func write(_ delivery: GroupDelivery, _ json: inout JSONWriter) {
        json.add("whisperId", delivery.member)
        Self.write(delivery.state, &json)
    }
}

extension EventDefinition {
    static let groupChanged = EventDefinition(
        "groupChanged",
        about:
            "A group is new, or has changed: title, members, roles or newcomers. Its members are the server's word. Nothing is sealed for newcomers.",
        isKept: true,
        [
            Field("group", .object(Shapes.group), about: "As it stands now."),
            Field("actor", .whisperID, .optional, about: "The actor. Without: the server's list said so."),
            Field("added", .array(of: .whisperID, count: 0...Limits.groupMembersMax)),
            Field("removed", .array(of: .whisperID, count: 0...Limits.groupMembersMax)),
        ],
        sample:
            #"{"type":"groupChanged","group":\#(Shapes.groupSample),"actor":"WSP-JBPU-D452-TLT4","added":["WSP-AAAA-AAAA-AAAA"],"removed":[]}"#
    )
}
