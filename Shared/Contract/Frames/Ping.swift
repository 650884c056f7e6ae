/// "Are you there?" Answered by `pong` with the server's time; needs no session (contract §4).
package enum Ping {
    package static let definition: FrameDefinition = FrameDefinition(
        "ping", about: "Asks for the server's time, and shows that the client lives. Needs no session.",
        route: .gateway, privileged: false,
        fields: [Field("timestamp", .timestamp, .optional, about: "Comes back in the `pong`.")],
        samples: ["{}", #"{"timestamp":1730000000000}"#])
}
