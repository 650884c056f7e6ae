/// A piece of a live conversation, as its whisperer sealed it (contract §14.9).
package struct LivePacket: ServerFrame {
    package let header: LivePacketHeader
    package let nonce: [UInt8]
    package let ciphertext: [UInt8]

    private static let conversationID = TypedField.conversationID("conversationId")
    private static let epoch = TypedField.integer("epoch", LiveLimits.sequence)
    private static let seq = TypedField.integer("seq", LiveLimits.sequence)
    private static let kind = TypedField<LivePacketKind>.choice("kind")
    private static let line = TypedField.integer(
        "line", Int64(LiveLimits.lines.lowerBound)...Int64(LiveLimits.lines.upperBound),
        about: "A line's number, from 1. Of other kinds: how many lines are completed so far.")
    private static let generation = TypedField.integer("generation", LiveLimits.sequence)
    private static let to = TypedField.principalID(
        "to", about: "It is for this listener alone, and outside the sequence."
    ).optional
    private static let nonce = TypedField.base64("nonce", LiveLimits.nonce)
    private static let ciphertext = TypedField.base64("ciphertext", LiveLimits.packetCiphertext)

    package static let definition = ServerFrameDefinition(
        "live_packet",
        about: """
            A piece of a live conversation, for those who have joined. A lower `epoch` or `seq` is ignored. Of lines of the present \
            `contentId`, the number decides. Packets may be left out; what comes is in order.
            """,
        fields: SendLivePacket.content.map { Field($0.name, $0.type, $0.presence) },
        samples: ["{\(SendLivePacket.contentSample)}"])

    package init(header: LivePacketHeader, nonce: [UInt8], ciphertext: [UInt8]) {
        self.header = header
        self.nonce = nonce
        self.ciphertext = ciphertext
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.header = LivePacketHeader(
            conversation: try payload[Self.conversationID],
            position: LivePosition(epoch: try payload[Self.epoch], seq: try payload[Self.seq]),
            kind: try payload[Self.kind], line: Int(try payload[Self.line]),
            generation: Int(try payload[Self.generation]), to: try payload[Self.to])
        self.nonce = try payload[Self.nonce]
        self.ciphertext = try payload[Self.ciphertext]
    }

    package var json: [UInt8] {
        var json = JSONWriter(capacity: 512)
        json.add(Self.conversationID, self.header.conversation)
        json.add(Self.epoch, self.header.position.epoch)
        json.add(Self.seq, self.header.position.seq)
        json.add(Self.kind, self.header.kind)
        json.add(Self.line, Int64(self.header.line))
        json.add(Self.generation, Int64(self.header.generation))
        json.add(Self.to, self.header.to)
        json.add(Self.nonce, self.nonce)
        json.add(Self.ciphertext, self.ciphertext)
        return json.finished()
    }
}
