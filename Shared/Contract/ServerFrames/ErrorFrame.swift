/// "No, because …", or "your session has ended" (spec §3.1).
package struct ErrorFrame: ServerFrame {
    /// As the server wrote it.
    package let code: String
    /// For people.
    package let message: String
    /// The request id of the refused frame.
    package let requestID: String?
    /// RATE_LIMITED, and USER_BANNED where the ban's end is known.
    package let retryAfterMilliseconds: Int64?
    /// As the server wrote it.
    package let reason: String?

    private static let code = TypedField.word("code", of: ErrorCode.allCases.map(\.rawValue))
    private static let message = TypedField.text(
        "message", 1...1_000, about: "For people. Never repeats a value that the client sent.")
    private static let requestID = TypedField.text(
        "requestId", Limits.requestIDCharacters, about: "Also at top level."
    ).optional
    private static let retryAfter = TypedField.integer(
        "retryAfterMs", 0...Limits.timestamps.upperBound,
        about: "Milliseconds to wait: of RATE_LIMITED, and of USER_BANNED after `register_proof`, if the ban ends."
    ).optional
    private static let reason = TypedField.word(
        "reason", of: RefusalReason.allCases.map(\.rawValue),
        about: "Where a client can act on more than the code. A client that does not know one shows `message`."
    ).optional

    package static let definition = ServerFrameDefinition(
        "error",
        about: """
            A frame was not accepted, and why; or, unasked and before a close, that the session has ended. Never closes the \
            connection unless a close code is named for the case.
            """,
        fields: [Self.code.field, Self.message.field, Self.requestID.field, Self.retryAfter.field, Self.reason.field],
        samples: [
            #"{"code":"NOT_FOUND","message":"no such recipient","requestId":"41"}"#,
            #"{"code":"RATE_LIMITED","message":"too many frames","retryAfterMs":500}"#,
            #"{"code":"FORBIDDEN","message":"an invitation is needed","requestId":"7","reason":"invitationNeeded"}"#,
        ])

    package init(_ refusal: Refusal, requestID: String?) {
        self.code = refusal.code.rawValue
        self.message = refusal.message
        self.requestID = requestID
        self.retryAfterMilliseconds = refusal.retryAfterMilliseconds
        self.reason = refusal.reason?.rawValue
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.code = try payload[Self.code]
        self.message = try payload[Self.message]
        self.requestID = try payload[Self.requestID]
        self.retryAfterMilliseconds = try payload[Self.retryAfter]
        self.reason = try payload[Self.reason]
    }

    /// `nil` for a code that this release does not know.
    package var errorCode: ErrorCode? { ErrorCode(rawValue: self.code) }

    package var json: [UInt8] {
        var json = JSONWriter()
        json.add(Self.code, self.code)
        json.add(Self.message, self.message)
        json.add(Self.requestID, self.requestID)
        json.add(Self.retryAfter, self.retryAfterMilliseconds)
        json.add(Self.reason, self.reason)
        return json.finished()
    }
}
