/// A frame was refused, or the session has ended (spec §3.1).
package enum ErrorFrame {
    package static let definition = ServerFrameDefinition(
        "error",
        about: """
            A frame was not accepted, and why; or, unasked and before a close, that the session has ended. Never closes the \
            connection unless a close code is named for the case.
            """,
        fields: [
            Field("code", .choice(ErrorCode.allCases.map(\.rawValue))),
            Field("message", .text(1...1_000), about: "For people. Never repeats a value that the client sent."),
            Field("requestId", .text(Limits.requestIDCharacters), .optional, about: "Also at top level."),
            Field(
                "retryAfterMs", .integer(0...Int64.max), .optional,
                about: "RATE_LIMITED only: milliseconds to wait."),
        ],
        samples: [
            #"{"code":"NOT_FOUND","message":"no such recipient","requestId":"41"}"#,
            #"{"code":"RATE_LIMITED","message":"too many frames","retryAfterMs":500}"#,
        ])
}
