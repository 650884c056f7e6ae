/// "Are you there?" Answered by `pong` with the server's time; needs no session (contract §4).
package struct Ping: ClientFrame {
    package let sentAt: Timestamp?

    package static let timestamp = TypedField.timestamp("timestamp", about: "Comes back in the `pong`.").optional

    package static let definition: FrameDefinition = FrameDefinition(
        "ping", about: "Asks for the server's time, and shows that the client lives. Needs no session.",
        route: .gateway, principal: .anybody,
        fields: [Self.timestamp.field],
        samples: ["{}", #"{"timestamp":1730000000000}"#])

    package init(at time: Timestamp?) { self.sentAt = time }

    package init(_ payload: Payload) throws(Payload.Corrupted) { self.sentAt = try payload[Self.timestamp] }

    package func write(to json: inout JSONWriter) { json.add(Self.timestamp, self.sentAt) }
}
