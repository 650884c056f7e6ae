/// Mail for an app that a push has woken, and that must not connect (contract §5).
package enum MailOperations {
    private static let messages = TypedField<[MessageReceived]>.objects(
        "messages", count: 0...Int(Limits.mailPeekMessages.upperBound),
        about: "Payloads of `message_received`, oldest first.")
    private static let more = TypedField.bool(
        "more", about: "Other messages wait: behind these, or between them, where one does not fit into `bytes`.")
    private static let serverTime = TypedField.timestamp("serverTime")

    package static let look = HTTPOperation(
        "lookAtMail", .get, "/mail",
        about: """
            The messages that wait for the caller, without a connection. Nothing changes by it: a connection with the same token stays, \
            nobody sees the caller online, and no message counts as delivered. The messages come again with `fetch_pending`.
            """,
        rate: Rates.mailPeeks,
        parameters: [
            .query("limit", .integer(Limits.mailPeekMessages), about: "Messages at most. Absent: the greatest number."),
            .query(
                "bytes", .integer(Limits.mailPeekBytes),
                about: "Bytes of all messages together, at most. Absent: the greatest number."),
        ],
        success: .json(
            ObjectSchema([Self.messages.field, Self.more.field, Self.serverTime.field]),
            sample: #"{"messages":[\#(MessageReceived.sample)],"more":false,"serverTime":1730000000000}"#),
        failures: [.init(.invalidPayload, "`limit` or `bytes` is out of its range.")])

    /// - Parameter messages: payloads of `message_received`, written already.
    package static func answer(_ messages: [[UInt8]], more: Bool, at now: Timestamp) -> [UInt8] {
        var json = JSONWriter(capacity: messages.reduce(64) { $0 + $1.count + 1 })
        json.add(Self.messages, written: messages)
        json.add(Self.more, more)
        json.add(Self.serverTime, now)
        return json.finished()
    }
}
