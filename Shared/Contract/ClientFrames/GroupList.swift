/// "Which groups am I in?" Answered by `groups`, a page at a time (contract §6).
package struct GroupList: ClientFrame {
    /// As given out by the previous page; `nil` starts at the first group.
    private let cursorText: String?
    package let limit: Int

    private static let cursor = TypedField.text(
        "cursor", Limits.cursorCharacters, about: "The `nextCursor` of the page before. Opaque; survives changes."
    ).optional
    private static let limit = TypedField.integer(
        "limit", 1...Int64(Limits.groupListMax), about: "Groups in the page, \(Limits.groupListMax) if absent."
    ).optional

    package static let definition: FrameDefinition = FrameDefinition(
        "group_list",
        about:
            "Asks for the groups that the caller is a member of: its own first. Without `cursor`, for the first page.",
        route: .service(.router), rate: Rates.groups,
        fields: CommonFields.privileged + [
            Self.cursor.field, Self.limit.field,
        ],
        rules: [.groupCursor(Self.cursor.field.name)],
        samples: [
            CommonFields.sample(),
            CommonFields.sample(
                #""cursor":"g2-3d6f1f0e8a554c7e9d550c4b7d1f2a61192cc091400000000000000002a","limit":20"#),
        ])

    /// - Parameter cursor: as the server gave it out. Clients do not read it.
    package init(cursor: String?, limit: Int = Limits.groupListMax) { (self.cursorText, self.limit) = (cursor, limit) }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.cursorText = try payload[Self.cursor]
        self.limit = try payload[Self.limit].map { Int($0) } ?? Limits.groupListMax
    }

    package var cursor: GroupCursor? { self.cursorText.flatMap { GroupCursor($0) } }

    package func write(to json: inout JSONWriter) {
        json.add(Self.cursor, self.cursorText)
        if self.limit != Limits.groupListMax { json.add(Self.limit, Int64(self.limit)) }
    }
}

/// A place in the list of somebody's groups: behind this membership. A membership keeps its place as long as its role stays.
package struct GroupCursor: Hashable, Sendable {
    /// The part of the list: 0 groups that the caller owns, 1 where it is an admin, 2 the rest.
    package let part: Int
    package let joinedAt: Timestamp
    package let group: UUIDText
    /// Memberships whose role has risen since this number was drawn count in their later part too, or they would be skipped.
    package let since: Int64

    /// Milliseconds that fit: until the year 2527.
    private static let joinedBits = 44

    package init(part: Int, joinedAt: Timestamp, group: UUIDText, since: Int64) {
        self.part = part
        self.joinedAt = joinedAt
        self.group = UUIDText(high: group.high, low: group.low)
        self.since = since
    }

    package init?(_ text: String) {
        let digits = Array(text.utf8.dropFirst(3))
        guard text.hasPrefix("g"), digits.count == 32 + Self.joinedBits / 4 + 16,
            let part = Int(text.dropFirst().prefix(1)), (0...2).contains(part)
        else { return nil }
        func number(_ range: Range<Int>) -> UInt64? {
            UInt64(String(decoding: digits[range], as: UTF8.self), radix: 16)
        }
        guard let high = number(0..<16), let low = number(16..<32), let joined = number(32..<43),
            let since = number(43..<59),
            let since = Int64(exactly: since)
        else { return nil }
        self.init(
            part: part, joinedAt: Timestamp(milliseconds: Int64(joined)), group: UUIDText(high: high, low: low),
            since: since)
        // Signs and capitals read as numbers too, but were never given out.
        guard self.text == text else { return nil }
    }

    package var text: String {
        func digits(_ number: UInt64, _ count: Int) -> String {
            let digits = String(number, radix: 16)
            return String(repeating: "0", count: max(0, count - digits.count)) + digits
        }
        let joined = UInt64(clamping: self.joinedAt.milliseconds) & (1 << Self.joinedBits - 1)
        return "g\(self.part)-" + digits(self.group.high, 16) + digits(self.group.low, 16)
            + digits(joined, Self.joinedBits / 4) + digits(UInt64(clamping: self.since), 16)
    }
}
