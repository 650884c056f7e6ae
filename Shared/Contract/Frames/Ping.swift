/// "Are you there?" Answered by `pong` with the server's time; needs no session (contract §4).
package enum Ping {
    package static let definition: FrameDefinition = FrameDefinition(
        "ping", route: .gateway, privileged: false, fields: [Field("timestamp", .timestamp, .optional)],
        samples: ["{}", #"{"timestamp":1730000000000}"#])
}
