/// "These listen." Answers `live_roster` (contract §14.6).
package struct LiveRoster: ServerFrame {
    package let conversation: ConversationID
    package let state: LiveStreamState
    package let epoch: Int64
    package let generation: Int
    package let content: UUIDText?
    package let holder: WhisperID?
    package let listeners: [LiveListener]

    private static let content = LiveFields.content.optional
    private static let holder = TypedField.whisperID("holder", about: "The device that whispers.").optional

    package static let definition = ServerFrameDefinition(
        "live_roster", about: "Who listens, waits or is blocked.",
        answers: [LiveRosterQuery.definition.type],
        fields: [
            LiveFields.conversation.field, LiveFields.state.field, LiveFields.epoch.field,
            LiveFields.generation.field, Self.content.field, Self.holder.field, LiveListener.listField.field,
        ],
        samples: [
            "{" + LiveFields.sampleConversation + #","state":"idle","epoch":0,"generation":1,"listeners":["#
                + LiveListener.sample + "]}"
        ])

    package init(
        conversation: ConversationID, state: LiveStreamState, epoch: Int64, generation: Int, content: UUIDText?,
        holder: WhisperID?, listeners: [LiveListener]
    ) {
        self.conversation = conversation
        self.state = state
        self.epoch = epoch
        self.generation = generation
        self.content = content
        self.holder = holder
        self.listeners = listeners
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.conversation = try payload[LiveFields.conversation]
        self.state = try payload[LiveFields.state]
        self.epoch = try payload[LiveFields.epoch]
        self.generation = Int(try payload[LiveFields.generation])
        self.content = try payload[Self.content]
        self.holder = try payload[Self.holder]
        self.listeners = try payload[LiveListener.listField]
    }

    package var json: [UInt8] {
        var json = JSONWriter(capacity: 256 + 384 * self.listeners.count)
        json.add(LiveFields.conversation, self.conversation)
        json.add(LiveFields.state, self.state)
        json.add(LiveFields.epoch, self.epoch)
        json.add(LiveFields.generation, Int64(self.generation))
        json.add(Self.content, self.content)
        json.add(Self.holder, self.holder)
        json.add(LiveListener.listField, self.listeners)
        return json.finished()
    }
}

/// A listener as the roster shows it.
package struct LiveListener: ObjectValue {
    package enum Status: String, CaseIterable, Sendable {
        case waiting
        /// May listen, and does not.
        case admitted
        /// Listens, or did a moment ago.
        case joined
        case blocked
    }

    package let listener: PrincipalID
    package let status: Status
    package let since: Timestamp
    /// The generation of its newest grant; 0 without one.
    package let generation: Int
    package let signPublicKey: Bytes32
    package let encPublicKey: Bytes32
    /// The knock of a listener that waits.
    package let knock: LiveSealedKnock?

    private static let status = TypedField<Status>.choice("status")
    private static let since = TypedField.timestamp("since")
    private static let generation = TypedField.integer(
        "generation", 0...LiveLimits.generations.upperBound, about: "Of its newest grant. 0: it has none.")
    private static let knock = TypedField<LiveSealedKnock>.object("knock", about: "Of those who wait.").optional

    static let schema = ObjectSchema([
        LiveFields.listener.field, Self.status.field, Self.since.field, Self.generation.field,
        LiveFields.signPublicKey.field, LiveFields.encPublicKey.field, Self.knock.field,
    ])
    static let listField = TypedField<[LiveListener]>.objects(
        "listeners", count: 0...(LiveLimits.listenersMax + LiveLimits.blockedMax + LiveLimits.waitingMax))

    static let sample =
        #"{"listener":"\#(LiveFields.sampleGuest)","status":"waiting","since":1730000000000,"generation":0,"#
        + LiveFields.sampleKeys + #","knock":"# + LiveSealedKnock.sample + "}"

    package init(
        listener: PrincipalID, status: Status, since: Timestamp, generation: Int, signPublicKey: Bytes32,
        encPublicKey: Bytes32, knock: LiveSealedKnock?
    ) {
        self.listener = listener
        self.status = status
        self.since = since
        self.generation = generation
        self.signPublicKey = signPublicKey
        self.encPublicKey = encPublicKey
        self.knock = knock
    }

    init(_ payload: Payload) throws(Payload.Corrupted) {
        self.listener = try payload[LiveFields.listener]
        self.status = try payload[Self.status]
        self.since = try payload[Self.since]
        self.generation = Int(try payload[Self.generation])
        guard let sign = Bytes32(try payload[LiveFields.signPublicKey]),
            let enc = Bytes32(try payload[LiveFields.encPublicKey])
        else { throw Payload.Corrupted() }
        (self.signPublicKey, self.encPublicKey) = (sign, enc)
        self.knock = try payload[Self.knock]
    }

    var json: [UInt8] {
        var json = JSONWriter(capacity: 384)
        json.add(LiveFields.listener, self.listener)
        json.add(Self.status, self.status)
        json.add(Self.since, self.since)
        json.add(Self.generation, Int64(self.generation))
        json.add(LiveFields.signPublicKey, self.signPublicKey.bytes)
        json.add(LiveFields.encPublicKey, self.encPublicKey.bytes)
        json.add(Self.knock, self.knock)
        return json.finished()
    }
}

/// A knock as the profile's devices get it: a BOX for the conversation, signed by the listener.
package struct LiveSealedKnock: ObjectValue, Hashable {
    package let timestamp: Timestamp
    package let nonce: [UInt8]
    package let ciphertext: [UInt8]
    package let signature: Bytes64

    private static let ciphertext = LiveFields.ciphertext(LiveLimits.knockCiphertext)
    static let schema = ObjectSchema([
        LiveFields.timestamp.field, LiveFields.nonce.field, Self.ciphertext.field, LiveFields.signature.field,
    ])
    static let sample =
        #"{"timestamp":1730000000000,"# + LiveFields.sampleSealed + #","sig":"\#(LiveFields.sampleSignature)"}"#

    package init(_ knock: LiveSigned) {
        self.timestamp = knock.timestamp
        self.nonce = knock.nonce
        self.ciphertext = knock.ciphertext
        self.signature = knock.signature
    }

    init(_ payload: Payload) throws(Payload.Corrupted) {
        self.timestamp = try payload[LiveFields.timestamp]
        self.nonce = try payload[LiveFields.nonce]
        self.ciphertext = try payload[Self.ciphertext]
        guard let signature = Bytes64(try payload[LiveFields.signature]) else { throw Payload.Corrupted() }
        self.signature = signature
    }

    var json: [UInt8] {
        var json = JSONWriter(capacity: 512)
        json.add(LiveFields.timestamp, self.timestamp)
        json.add(LiveFields.nonce, self.nonce)
        json.add(Self.ciphertext, self.ciphertext)
        json.add(LiveFields.signature, self.signature.bytes)
        return json.finished()
    }
}
