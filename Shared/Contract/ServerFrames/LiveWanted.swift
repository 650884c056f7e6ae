/// "Your listeners need this." For the holder of a stream (contract §14.9).
package struct LiveWanted: ServerFrame {
    package enum Want: Equatable, Sendable {
        /// The whole live text, for all.
        case snapshot
        /// Lines from this number on, for this listener alone. None that was completed before `since`.
        case lines(listener: PrincipalID, from: Int, since: Timestamp)
    }

    package let conversation: ConversationID
    package let epoch: Int64
    package let want: Want

    private static let conversationID = TypedField.conversationID("conversationId")
    private static let epoch = TypedField.integer("epoch", LiveLimits.sequence)
    private static let want = TypedField.word("want", of: ["snapshot", "lines"])
    private static let listener = TypedField.principalID("listener", about: "With `lines`.").optional
    private static let fromLine = TypedField.integer(
        "fromLine", 1...Int64(LiveLimits.lines.upperBound), about: "With `lines`: the first that it misses."
    ).optional
    private static let since = TypedField.timestamp(
        "since", about: "With `lines`: when the listener first joined. It gets no line completed before."
    ).optional

    package static let definition = ServerFrameDefinition(
        "live_wanted",
        about: """
            Something that listeners need is not remembered by the server. The whisperer sends a snapshot within \
            \(LiveLimits.wantedSnapshotWithin.milliseconds) ms, or its newest lines again with `to`. At most \
            \(LiveLimits.wantedSnapshotsPerSecond) snapshots a second are wanted, and lines once in \
            \(LiveLimits.wantedLinesInterval.components.seconds) s for each listener.
            """,
        fields: [
            Self.conversationID.field, Self.epoch.field, Self.want.field, Self.listener.field, Self.fromLine.field,
            Self.since.field,
        ],
        samples: [
            #"{"conversationId":"3f0c8a5e-2f0d-1f6b-8d55-0c4b7d1f2a61","epoch":7,"want":"snapshot"}"#,
            #"{"conversationId":"3f0c8a5e-2f0d-1f6b-8d55-0c4b7d1f2a61","epoch":7,"want":"lines","listener":"gst-000102030405060708090a0b0c0d0e0f","fromLine":12,"since":1730000000000}"#,
        ])

    package init(conversation: ConversationID, epoch: Int64, want: Want) {
        self.conversation = conversation
        self.epoch = epoch
        self.want = want
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.conversation = try payload[Self.conversationID]
        self.epoch = try payload[Self.epoch]
        switch (
            try payload[Self.want], try payload[Self.listener], try payload[Self.fromLine], try payload[Self.since]
        ) {
        case ("snapshot", _, _, _): self.want = .snapshot
        case ("lines", let listener?, let from?, let since?):
            self.want = .lines(listener: listener, from: Int(from), since: since)
        default: throw Payload.Corrupted()
        }
    }

    package var json: [UInt8] {
        var json = JSONWriter()
        json.add(Self.conversationID, self.conversation)
        json.add(Self.epoch, self.epoch)
        switch self.want {
        case .snapshot: json.add(Self.want, "snapshot")
        case .lines(let listener, let from, let since):
            json.add(Self.want, "lines")
            json.add(Self.listener, listener)
            json.add(Self.fromLine, Int64(from))
            json.add(Self.since, since)
        }
        return json.finished()
    }
}
