/// A piece of a live conversation, sealed for its listeners (contract §14.9). No answer: only errors.
package struct SendLivePacket: ClientFrame {
    package let header: LivePacketHeader
    /// The payload of `live_packet` for listeners: the same fields in the same spelling.
    package let relayed: [UInt8]
    /// The seal of a line to all; other packets have none, as they are never stored.
    package let seal: LineSeal?

    private static let conversationID = TypedField.conversationID("conversationId")
    private static let epoch = TypedField.integer(
        "epoch", LiveLimits.sequence, about: "As `live_started` says. Each taking of the stream has its own.")
    private static let seq = TypedField.integer(
        "seq", LiveLimits.sequence,
        about: "Grows by 1 with each packet of the epoch. With `to`: that of the latest packet to all.")
    private static let kind = TypedField<LivePacketKind>.choice(
        "kind", about: "The first of an epoch is a `snapshot`.")
    private static let line = TypedField.integer(
        "line", Int64(LiveLimits.lines.lowerBound)...Int64(LiveLimits.lines.upperBound),
        about: "A line's number, from 1. Of other kinds: how many lines are completed so far.")
    private static let generation = TypedField.integer(
        "generation", LiveLimits.sequence, about: "Of the content key that seals it.")
    private static let to = TypedField.principalID(
        "to", about: "The only listener that gets it. For cues, and for lines that were asked for."
    ).optional
    private static let nonce = TypedField.base64("nonce", LiveLimits.nonce)
    private static let ciphertext = TypedField.base64(
        "ciphertext", LiveLimits.packetCiphertext, about: "AES-256-GCM with its tag. The seal covers all fields above.")

    /// The fields that are passed on, in the order in which they are written.
    static let content = [
        Self.conversationID.field, Self.epoch.field, Self.seq.field, Self.kind.field, Self.line.field,
        Self.generation.field, Self.to.field, Self.nonce.field, Self.ciphertext.field,
    ]
    private static let tokenNames = CommonFields.privileged.map(\.name)

    static let contentSample =
        #""conversationId":"3f0c8a5e-2f0d-1f6b-8d55-0c4b7d1f2a61","epoch":7,"seq":412,"kind":"diff","line":31,"generation":2,"nonce":"AAECAwQFBgcICQoL","ciphertext":"Y2lwaGVydGV4dCBhbmQgdGFnIG9mIDMyIGJ5dGVzLi4=""#

    package static let definition: FrameDefinition = FrameDefinition(
        "live_packet",
        about: """
            A piece of a live conversation. Only the connection that holds the stream may send it. Its gateway passes it on as it is, to \
            every listener that has joined, in the order of `seq`. A `seq` that is not above the last one is dropped without a word, \
            and so is a `generation` below the stream's.
            """,
        route: .gateway, rate: Rates.livePackets, fields: CommonFields.privileged + Self.content,
        rules: [
            .absent(Self.to.field.name, while: Self.kind.field.name, is: LivePacketKind.snapshot.rawValue),
            .absent(Self.to.field.name, while: Self.kind.field.name, is: LivePacketKind.diff.rawValue),
            .notZero(Self.line.field.name, while: Self.kind.field.name, is: LivePacketKind.line.rawValue),
        ],
        refusals: [
            (
                .forbidden,
                "This connection does not hold the stream, or the epoch is not the one it holds, or `generation` is above the stream's."
            )
        ],
        samples: [
            CommonFields.sample(Self.contentSample),
            CommonFields.sample(
                #""conversationId":"3f0c8a5e-2f0d-1f6b-8d55-0c4b7d1f2a61","epoch":7,"seq":412,"kind":"line","line":3,"generation":2,"to":"gst-000102030405060708090a0b0c0d0e0f","nonce":"AAECAwQFBgcICQoL","ciphertext":"Y2lwaGVydGV4dCBhbmQgdGFnIG9mIDMyIGJ5dGVzLi4=""#
            ),
        ])

    package init(_ packet: LivePacket) {
        (self.header, self.relayed) = (packet.header, packet.json)
        self.seal =
            packet.header.kind == .line && packet.header.to == nil
            ? .init(nonce: packet.nonce, ciphertext: packet.ciphertext) : nil
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.header = LivePacketHeader(
            conversation: try payload[Self.conversationID],
            position: LivePosition(epoch: try payload[Self.epoch], seq: try payload[Self.seq]),
            kind: try payload[Self.kind], line: Int(try payload[Self.line]),
            generation: Int(try payload[Self.generation]), to: try payload[Self.to])
        self.relayed = try payload.json(without: Self.tokenNames)
        self.seal =
            self.header.kind == .line && self.header.to == nil
            ? .init(nonce: try payload[Self.nonce], ciphertext: try payload[Self.ciphertext]) : nil
    }

    package func write(to json: inout JSONWriter) { json.add(membersOf: self.relayed) }
}
