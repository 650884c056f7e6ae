/// "I am here." Answers a `ping` (contract §4).
package struct Pong: ServerFrame {
    /// As the `ping` had it.
    package let timestamp: Timestamp?
    package let serverTime: Timestamp

    private static let timestamp = TypedField.timestamp("timestamp", about: "As the `ping` had it.").optional
    private static let serverTime = TypedField.timestamp("serverTime")

    package static let definition = ServerFrameDefinition(
        "pong", about: "The server's time.", answers: ["ping"],
        fields: [Self.timestamp.field, Self.serverTime.field],
        samples: [#"{"timestamp":1730000000000,"serverTime":1730000000042}"#, #"{"serverTime":1730000000042}"#])

    package init(timestamp: Timestamp?, serverTime: Timestamp) {
        self.timestamp = timestamp
        self.serverTime = serverTime
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.timestamp = try payload[Self.timestamp]
        self.serverTime = try payload[Self.serverTime]
    }

    package var json: [UInt8] {
        var json = JSONWriter()
        json.add(Self.timestamp, self.timestamp)
        json.add(Self.serverTime, self.serverTime)
        return json.finished()
    }
}
