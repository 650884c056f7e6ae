/// A change of a group, as its actor spelled and signed it (contract §13b). The server keeps it with the event and hands it on.
/// Members check it: it vouches for those who were added.
package struct SignedGroupChange: Hashable, Sendable {
    package let added: [WhisperID]
    package let removed: [WhisperID]
    package let roles: [GroupUpdate.RoleChange]
    /// `nil` if it stays.
    package let title: String?
    package let timestamp: Timestamp
    package let signature: Bytes64

    package static let signatureField = TypedField.base64(
        "actorSig", Limits.signatureBytes...Limits.signatureBytes,
        about: "By the actor, over the change (see Signatures of groups). Only with `timestamp`."
    ).optional
    package static let timestampField = TypedField.timestamp("timestamp", about: "Of `actorSig`.").optional
    static let fields = [Self.signatureField.field, Self.timestampField.field]

    package init(
        added: [WhisperID], removed: [WhisperID], roles: [GroupUpdate.RoleChange], title: String?,
        timestamp: Timestamp, signature: Bytes64
    ) {
        self.added = added
        self.removed = removed
        self.roles = roles
        self.title = title
        self.timestamp = timestamp
        self.signature = signature
    }

    /// - Returns: `nil` if the frame is not signed.
    init?(
        added: [WhisperID], removed: [WhisperID], roles: [GroupUpdate.RoleChange], title: String?, in payload: Payload
    ) throws(Payload.Corrupted) {
        guard let bytes = try payload[Self.signatureField], let timestamp = try payload[Self.timestampField] else {
            return nil
        }
        guard let signature = Bytes64(bytes) else { throw Payload.Corrupted() }
        self.init(
            added: added, removed: removed, roles: roles, title: title, timestamp: timestamp, signature: signature)
    }

    /// Writes the signature, if there is one. The parts of the change are members of the frame already.
    static func write(_ change: SignedGroupChange?, to json: inout JSONWriter) {
        json.add(Self.signatureField, change?.signature.bytes)
        json.add(Self.timestampField, change?.timestamp)
    }

    /// The bytes whose SHA-256 the actor signs.
    /// - Parameters:
    ///   - group: in lower case, with its prefix; `nil` for a group that is yet to be made.
    ///   - revision: before the change; 0 for a group that is yet to be made.
    ///   - digest: SHA-256 of `text`.
    package static func statement(
        group: String?, revision: Int64, digest: [UInt8], timestamp: Timestamp
    ) -> [UInt8] {
        let digest = String(decoding: Base64.encode(digest), as: UTF8.self)
        return LiveSeals.lines(["group", group ?? "", "\(revision)", digest, "\(timestamp.milliseconds)"])
    }

    /// The change itself, one line for each part. Nothing but a title may hold a line end, and it stands last.
    package static func text(
        added: [WhisperID], removed: [WhisperID], roles: [GroupUpdate.RoleChange], title: String?
    ) -> [UInt8] {
        func list(_ words: [String]) -> String { words.joined(separator: ",") }
        let lines = [
            "add " + list(added.map { "\($0)" }), "remove " + list(removed.map { "\($0)" }),
            "role " + list(roles.map { "\($0.identity)=\($0.role.rawValue)" }), "title " + (title ?? ""),
        ]
        return Array((lines.joined(separator: "\n") + "\n").utf8)
    }

    package var text: [UInt8] {
        Self.text(added: self.added, removed: self.removed, roles: self.roles, title: self.title)
    }
}

/// The parts of a change, as `group_event` hands them on.
package struct GroupChangeParts: ObjectValue {
    let added: [WhisperID]
    let removed: [WhisperID]
    let roles: [GroupUpdate.RoleChange]
    let title: String?

    private static let added = TypedField.whisperIDs("add", count: 0...Limits.groupMembersMax)
    private static let removed = TypedField.whisperIDs("remove", count: 0...Limits.groupMembersMax)
    private static let roles = TypedField<[GroupUpdate.RoleChange]>.objects(
        "roles", count: 0...Limits.groupMembersMax)
    private static let title = TypedField.text("title", Limits.groupTitleCharacters).optional

    static let schema = ObjectSchema([
        Self.added.field, Self.removed.field, Self.roles.field, Self.title.field,
    ])
    static let sample = #"{"add":["WSP-AAAA-AAAA-AAAA"],"remove":[],"roles":[],"title":"Hiking"}"#

    init(_ change: SignedGroupChange) {
        (self.added, self.removed) = (change.added, change.removed)
        (self.roles, self.title) = (change.roles, change.title)
    }

    init(_ payload: Payload) throws(Payload.Corrupted) {
        self.added = try payload[Self.added]
        self.removed = try payload[Self.removed]
        self.roles = try payload[Self.roles]
        self.title = try payload[Self.title]
    }

    var json: [UInt8] {
        var json = JSONWriter(capacity: 128 + 24 * (self.added.count + self.removed.count) + 64 * self.roles.count)
        json.add(Self.added, self.added)
        json.add(Self.removed, self.removed)
        json.add(Self.roles, self.roles)
        json.add(Self.title, self.title)
        return json.finished()
    }
}
