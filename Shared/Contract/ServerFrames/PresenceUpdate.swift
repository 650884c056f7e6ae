/// "Your peer is here", or "gone" (contract §7). Peers are identities with 1:1 traffic both ways in the last 30 days.
package struct PresenceUpdate: ServerFrame {
    package let whisperID: WhisperID
    package let state: PresenceState

    private static let whisperID = TypedField.whisperID("whisperId")
    private static let status = TypedField.word("status", of: ["online", "offline"])
    private static let lastSeen = TypedField.timestamp("lastSeen", about: "With `offline`.").optional

    package static let definition = ServerFrameDefinition(
        "presence_update",
        about: "A peer came, or has been away for 15 s. At most one in 30 s about each peer; the latest state wins.",
        fields: [Self.whisperID.field, Self.status.field, Self.lastSeen.field],
        samples: [
            #"{"whisperId":"WSP-AAAA-AAAA-AAAA","status":"online"}"#,
            #"{"whisperId":"WSP-AAAA-AAAA-AAAA","status":"offline","lastSeen":1730000000000}"#,
        ])

    package init(whisperID: WhisperID, state: PresenceState) {
        self.whisperID = whisperID
        self.state = state
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.whisperID = try payload[Self.whisperID]
        switch (try payload[Self.status], try payload[Self.lastSeen]) {
        case ("online", _): self.state = .online
        case ("offline", let lastSeen?): self.state = .offline(lastSeen: lastSeen)
        default: throw Payload.Corrupted()
        }
    }

    package var json: [UInt8] {
        var json = JSONWriter()
        json.add(Self.whisperID, self.whisperID)
        switch self.state {
        case .online: json.add(Self.status, "online")
        case .offline(let lastSeen):
            json.add(Self.status, "offline")
            json.add(Self.lastSeen, lastSeen)
        }
        return json.finished()
    }
}
