/// "The group is so now." Answers a `group_create` or `group_update`, and goes to everybody concerned (contract §6).
package struct GroupEvent: ServerFrame {
    package enum Event: String, CaseIterable, Sendable {
        case created, updated
    }

    package let event: Event
    package let group: GroupDescription
    /// The identity that made the change.
    package let actor: WhisperID
    package let added: [WhisperID]
    package let removed: [WhisperID]
    /// As the actor spelled and signed it. `nil` if it was not signed, or its parts did not come whole.
    package let signed: SignedGroupChange?

    private static let event = TypedField<Event>.choice("event")
    private static let group = TypedField<GroupDescription>.object("group")
    private static let actor = TypedField.whisperID("actor", about: "Who did it.")
    private static let added = TypedField.whisperIDs("added", count: 0...Limits.groupMembersMax)
    private static let removed = TypedField.whisperIDs("removed", count: 0...Limits.groupMembersMax)

    private static let change = TypedField<GroupChangeParts>.object(
        "change", about: "With `actorSig`: what the actor signed, as it was spelled. The server does not check it."
    ).optional

    package static let definition = ServerFrameDefinition(
        "group_event",
        about: """
            A group is new or has changed: for the one who did it, with `requestId`, for all members, and for whoever was \
            removed. A member who was away gets the latest one of each group when binding: those of own groups first, and more when \
            these are confirmed. They wait for 30 days.
            """,
        answers: ["group_create", "group_update"],
        fields: [Self.event.field, Self.group.field, Self.actor.field, Self.added.field, Self.removed.field]
            + SignedGroupChange.fields + [Self.change.field],
        samples: [
            #"{"event":"created","group":\#(GroupDescription.sample),"actor":"WSP-JBPU-D452-TLT4","added":["WSP-AAAA-AAAA-AAAA"],"removed":[]}"#,
            #"{"event":"created","group":\#(GroupDescription.sample),"actor":"WSP-JBPU-D452-TLT4","added":["WSP-AAAA-AAAA-AAAA"],"removed":[],"actorSig":"\#(LiveFields.sampleSignature)","timestamp":1730000000000,"change":\#(GroupChangeParts.sample)}"#,
        ])

    package init(
        event: Event, group: GroupDescription, actor: WhisperID, added: [WhisperID], removed: [WhisperID],
        signed: SignedGroupChange? = nil
    ) {
        self.event = event
        self.group = group
        self.actor = actor
        self.added = added
        self.removed = removed
        self.signed = signed
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.event = try payload[Self.event]
        self.group = try payload[Self.group]
        self.actor = try payload[Self.actor]
        self.added = try payload[Self.added]
        self.removed = try payload[Self.removed]
        self.signed =
            if let change = try payload[Self.change] {
                try SignedGroupChange(
                    added: change.added, removed: change.removed, roles: change.roles, title: change.title, in: payload)
            } else { nil }
    }

    package var json: [UInt8] {
        var json = JSONWriter(capacity: 512 + 96 * self.group.members.count)
        json.add(Self.event, self.event)
        json.add(Self.group, self.group)
        json.add(Self.actor, self.actor)
        json.add(Self.added, self.added)
        json.add(Self.removed, self.removed)
        if let signed {
            json.add(SignedGroupChange.signatureField, signed.signature.bytes)
            json.add(SignedGroupChange.timestampField, signed.timestamp)
            json.add(Self.change, GroupChangeParts(signed))
        }
        return json.finished()
    }
}
