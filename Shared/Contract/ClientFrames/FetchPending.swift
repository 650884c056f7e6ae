/// "What waits for me?" Answered by `pending_messages`, oldest first (contract §5, spec §5.2).
package struct FetchPending: Sendable {
    /// As given out by the previous page; `nil` starts at the oldest.
    package let cursor: Cursor?
    package let limit: Int

    package static let definition: FrameDefinition = FrameDefinition(
        "fetch_pending",
        about: """
            Asks for what waits in the mailbox, oldest first. Sent after every login and every reconnect: binding alone \
            brings delivery statuses, group events and ringing calls, never pending mail.
            """,
        route: .ownMailbox, rate: Rates.fetchPending,
        fields: CommonFields.privileged + [
            Field(
                "cursor", .text(Limits.cursorCharacters), .optional,
                about: "The `nextCursor` of the page before. Opaque; survives deletions."),
            Field(
                "limit", .integer(1...Int64(Limits.fetchPendingMax)), .optional,
                about: "Messages in the page, \(Limits.fetchPendingDefault) if absent."),
        ],
        rules: [.cursor("cursor")],
        samples: [
            #"{"protocolVersion":1,"cryptoVersion":1,"sessionToken":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}"#,
            #"{"protocolVersion":1,"cryptoVersion":1,"sessionToken":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA","cursor":"p1-2a","limit":100}"#,
        ])

    package init(_ payload: Payload) {
        let cursor = Self.definition.field("cursor")
        let limit = Self.definition.field("limit")
        self.cursor = payload.has(cursor) ? Cursor(payload.text(cursor)) : nil
        self.limit = payload.has(limit) ? Int(payload.integer(limit)) : Limits.fetchPendingDefault
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
