/// What all call frames of a client have in common (contract §7): who calls whom, and a blob that the server cannot read.
/// The canonical line `messageId` is the `callId`.
package struct SignedCall: Sendable {
    package let type: String
    package let callID: UUIDText
    package let from: WhisperID
    package let to: WhisperID
    package let timestamp: Timestamp
    package let signature: Bytes64
    /// `call_initiate` only.
    package let isVideo: Bool
    /// `call_end` only, and there optional.
    package let reason: String?
    private let payload: Payload

    /// - Parameter payload: of the frame `definition`, one of those that have these fields.
    package init(_ payload: Payload, _ definition: FrameDefinition) {
        func optional(_ name: String) -> Int? { definition.schema.index(of: name).flatMap { payload.has($0) ? $0 : nil } }
        self.type = definition.type
        self.callID = payload.uuid(definition.field("callId"))
        self.from = payload.whisperID(definition.field("from"))
        self.to = payload.whisperID(definition.field("to"))
        self.timestamp = payload.timestamp(definition.field("timestamp"))
        self.signature = Bytes64(payload.bytes(definition.field("sig")))!
        self.isVideo = optional("isVideo").map { payload.bool($0) } ?? false
        self.reason = optional("reason").map { payload.text($0) }
        self.payload = payload
    }

    /// What the signature covers (spec §3.5).
    package var canonical: CanonicalMessage {
        func text(_ name: String) -> String { self.payload.text(self.payload.schema.index(of: name)!) }
        return CanonicalMessage(
            type: self.type, messageID: "\(self.callID)", from: "\(self.from)", toOrGroupID: "\(self.to)",
            timestamp: self.timestamp.milliseconds, nonce: text("nonce"), ciphertext: text("ciphertext"))
    }

    /// The payload as the other side gets it: what was sent, less versions and session.
    package func relayed() -> [UInt8] {
        func place(_ name: String) -> Int { self.payload.schema.index(of: name)! }
        var writer = JSONWriter(capacity: 1_024)
        writer.add("callId", self.callID)
        writer.add("from", self.from)
        writer.add("to", self.to)
        writer.add("timestamp", self.timestamp)
        writer.add("nonce", place("nonce"), of: self.payload)
        writer.add("ciphertext", place("ciphertext"), of: self.payload)
        writer.add("sig", place("sig"), of: self.payload)
        if self.type == CallInitiate.definition.type { writer.add("isVideo", self.isVideo) }
        writer.add("reason", self.reason)
        return writer.finished()
    }

    static let fields = CommonFields.privileged + [Field("callId", .uuid)] + CommonFields.parties + CommonFields.sealed
    static let rules: [FrameRule] = [.differ("to", "from")]
    static let refusals: [(code: ErrorCode, when: String)] = [
        (.notFound, "There is no such call, it is over, or the caller is not part of it.")
    ]
    static func sample(_ more: String = "") -> String {
        CommonFields.sample(#""callId":"c1d2e3f4-0f7c-4e51-9d0c-3c7d1d2b7a10","# + CommonFields.signedSample + more)
    }
}
