/// "What waits for me?" Answered by `pending_messages`, oldest first (contract §5, spec §5.2).
package struct FetchPending: ClientFrame {
    /// As given out by the previous page; `nil` starts at the oldest.
    private let cursorText: String?
    package let limit: Int

    private static let cursor = TypedField.text(
        "cursor", Limits.cursorCharacters,
        about: "The `nextCursor` of the page before. Opaque; survives deletions."
    ).optional
    private static let limit = TypedField.integer(
        "limit", 1...Int64(Limits.fetchPendingMax),
        about: "Messages in the page, \(Limits.fetchPendingDefault) if absent."
    ).optional

    package static let definition: FrameDefinition = FrameDefinition(
        "fetch_pending",
        about: """
            Asks for what waits in the mailbox, oldest first. Sent after every login and every reconnect: binding alone \
            brings delivery statuses, group events and ringing calls, never pending mail.
            """,
        route: .ownMailbox, rate: Rates.fetchPending,
        fields: CommonFields.privileged + [
            Self.cursor.field, Self.limit.field,
        ],
        rules: [.cursor(Self.cursor.field.name)],
        samples: [
            #"{"protocolVersion":1,"cryptoVersion":1,"sessionToken":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}"#,
            #"{"protocolVersion":1,"cryptoVersion":1,"sessionToken":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA","cursor":"p1-2a","limit":100}"#,
        ])

    /// - Parameter cursor: as the server gave it out. Clients do not read it.
    package init(cursor: String?, limit: Int) { (self.cursorText, self.limit) = (cursor, limit) }

    package init(_ payload: Payload) {
        let cursor = Self.definition.place(Self.cursor)
        let limit = Self.definition.place(Self.limit)
        self.cursorText = payload.has(cursor) ? payload.text(cursor) : nil
        self.limit = payload.has(limit) ? Int(payload.integer(limit)) : Limits.fetchPendingDefault
    }

    package var cursor: Cursor? { self.cursorText.flatMap { Cursor($0) } }

    package func write(to json: inout JSONWriter) {
        json.add(Self.cursor, self.cursorText)
        if self.limit != Limits.fetchPendingDefault { json.add(Self.limit, Int64(self.limit)) }
    }
}

/// A place in a mailbox: behind the mail with this number. Numbers only grow, so deletions do not move it.
package struct Cursor: Hashable, Sendable {
    package let after: Int64

    package init(after: Int64) { self.after = after }

    package init?(_ text: String) {
        guard text.hasPrefix("p1-"), let after = Int64(text.dropFirst(3), radix: 16), after >= 0 else { return nil }
        self.after = after
        // Signs, zeros in front and capitals read as numbers too, but were never given out.
        guard self.text == text else { return nil }
    }

    package var text: String { "p1-" + String(self.after, radix: 16) }
}
