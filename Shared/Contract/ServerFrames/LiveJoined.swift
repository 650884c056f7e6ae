/// "You have joined." Packets follow (contract §14.10).
package struct LiveJoined: ServerFrame {
    /// The newest grant of the listener. It may be old.
    package struct Grant: ObjectValue {
        package let from: WhisperID
        package let generation: Int
        package let timestamp: Timestamp
        package let nonce: [UInt8]
        package let ciphertext: [UInt8]
        package let signature: [UInt8]

        private static let from = TypedField.whisperID("from")
        private static let generation = TypedField.integer("generation", LiveLimits.sequence)
        private static let timestamp = TypedField.timestamp("timestamp")
        private static let nonce = TypedField.base64("nonce", LiveLimits.nonce)
        private static let ciphertext = TypedField.base64(
            "ciphertext", LiveLimits.grantCiphertext, about: "A BOX for the listener's key.")
        private static let signature = TypedField.base64(
            "sig", Limits.signature, about: "By the conversation's key.")

        static let schema = ObjectSchema([
            Self.from.field, Self.generation.field, Self.timestamp.field, Self.nonce.field, Self.ciphertext.field,
            Self.signature.field,
        ])

        init(_ payload: Payload) throws(Payload.Corrupted) {
            self.from = try payload[Self.from]
            self.generation = Int(try payload[Self.generation])
            self.timestamp = try payload[Self.timestamp]
            self.nonce = try payload[Self.nonce]
            self.ciphertext = try payload[Self.ciphertext]
            self.signature = try payload[Self.signature]
        }

        var json: [UInt8] {
            var json = JSONWriter(capacity: 320)
            json.add(Self.from, self.from)
            json.add(Self.generation, Int64(self.generation))
            json.add(Self.timestamp, self.timestamp)
            json.add(Self.nonce, self.nonce)
            json.add(Self.ciphertext, self.ciphertext)
            json.add(Self.signature, self.signature)
            return json.finished()
        }
    }

    package let conversation: ConversationID
    package let state: LiveStreamState
    package let content: UUIDText?
    package let epoch: Int64
    package let generation: Int
    package let isTranscribed: Bool
    package let seq: Int64
    package let line: Int?
    package let grant: Grant?

    private static let conversationID = TypedField.conversationID("conversationId")
    private static let state = TypedField<LiveStreamState>.choice("state")
    private static let contentID = TypedField.lowerCaseUUID(
        "contentId", about: "The stream's, unless the conversation is idle."
    ).optional
    private static let epoch = TypedField.integer("epoch", 0...LiveLimits.sequence.upperBound)
    private static let generation = TypedField.integer("generation", LiveLimits.sequence)
    private static let isTranscribed = TypedField.bool("isTranscribed", about: "Lines are kept.")
    private static let seq = TypedField.integer(
        "seq", 0...LiveLimits.sequence.upperBound, about: "Of the newest packet that the server knows of; 0 for none.")
    private static let line = TypedField.integer(
        "line", Int64(LiveLimits.lines.lowerBound)...Int64(LiveLimits.lines.upperBound),
        about: "Lines completed so far. Those are not missing, unless `after` says fewer."
    ).optional
    private static let grant = TypedField<Grant>.object("grant", about: "Absent for devices of the profile.").optional

    package static let definition = ServerFrameDefinition(
        "live_joined",
        about: """
            The listener has joined. Without `after`, a snapshot and the packets behind it follow: the live text of now. With `after`, the \
            lines that it misses come first, each once and in order.
            """,
        answers: ["live_join"],
        fields: [
            Self.conversationID.field, Self.state.field, Self.contentID.field, Self.epoch.field, Self.generation.field,
            Self.isTranscribed.field, Self.seq.field, Self.line.field, Self.grant.field,
        ],
        samples: [
            #"{"conversationId":"3f0c8a5e-2f0d-1f6b-8d55-0c4b7d1f2a61","state":"live","contentId":"5b0c7a5e-2f0d-4f6b-8d55-0c4b7d1f2a61","epoch":7,"generation":2,"isTranscribed":true,"seq":411,"line":31,"grant":{"from":"WSP-JBPU-D452-TLT4","generation":2,"timestamp":1730000000000,"nonce":"AAECAwQFBgcICQoL","ciphertext":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+Pw==","sig":"oofhBFIEzdUuTLSm/1BQ3QmWPc97/792V5wdhGBJGGKkzbIP/Z0792BlgcrrNuqW4E6vGKjFkLzHGU0nS80cAg=="}}"#,
            #"{"conversationId":"3f0c8a5e-2f0d-1f6b-8d55-0c4b7d1f2a61","state":"idle","epoch":0,"generation":1,"isTranscribed":false,"seq":0}"#,
        ])

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.conversation = try payload[Self.conversationID]
        self.state = try payload[Self.state]
        self.content = try payload[Self.contentID]
        self.epoch = try payload[Self.epoch]
        self.generation = Int(try payload[Self.generation])
        self.isTranscribed = try payload[Self.isTranscribed]
        self.seq = try payload[Self.seq]
        self.line = try payload[Self.line].map { Int($0) }
        self.grant = try payload[Self.grant]
    }

    package var json: [UInt8] {
        Self.json(
            conversation: self.conversation, state: self.state, content: self.content, epoch: self.epoch,
            generation: self.generation, isTranscribed: self.isTranscribed, seq: self.seq, line: self.line,
            grant: self.grant?.json)
    }

    /// - Parameter grant: a `Grant` as JSON, as whoever keeps it has written it.
    package static func json(
        conversation: ConversationID, state: LiveStreamState, content: UUIDText?, epoch: Int64, generation: Int,
        isTranscribed: Bool, seq: Int64, line: Int?, grant: [UInt8]?
    ) -> [UInt8] {
        var json = JSONWriter(capacity: 256 + (grant?.count ?? 0))
        json.add(Self.conversationID, conversation)
        json.add(Self.state, state)
        json.add(Self.contentID, content)
        json.add(Self.epoch, epoch)
        json.add(Self.generation, Int64(generation))
        json.add(Self.isTranscribed, isTranscribed)
        json.add(Self.seq, seq)
        json.add(Self.line, line.map { Int64($0) })
        if let grant { json.add("grant", json: grant) }
        return json.finished()
    }
}
