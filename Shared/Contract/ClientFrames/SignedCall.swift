/// A frame of a call. The type of the frame is that of its `SignedCall`.
package protocol SignedCallFrame: ClientFrame {
    var call: SignedCall { get }
    init(_ call: SignedCall)
}

extension SignedCallFrame {
    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.init(try SignedCall(payload, type: Self.definition.type))
    }

    package func write(to json: inout JSONWriter) { self.call.write(to: &json) }
}

/// The common part of all call frames of a client (contract §7): caller, callee, and a blob that the server cannot
/// read. The canonical line `messageId` is the `callId`.
package struct SignedCall: Sendable {
    package let type: String
    package let callID: UUIDText
    package let from: WhisperID
    package let to: WhisperID
    package let timestamp: Timestamp
    package var signature: Bytes64
    /// `call_initiate` only.
    package let isVideo: Bool
    /// `call_end` only, and there optional.
    package let reason: String?
    package let nonce: [UInt8]
    package let ciphertext: [UInt8]

    /// - Parameter type: of the client's frame, which the signature names. The other side gets some under another name.
    package init(_ payload: Payload, type: String) throws(Payload.Corrupted) {
        self.type = type
        self.callID = try payload[Self.callID]
        self.from = try payload[CommonFields.from]
        self.to = try payload[CommonFields.to]
        self.timestamp = try payload[CommonFields.timestamp]
        self.nonce = try payload[CommonFields.nonce]
        self.ciphertext = try payload[CommonFields.ciphertext]
        guard let signature = Bytes64(try payload[CommonFields.signature]) else { throw Payload.Corrupted() }
        self.signature = signature
        self.isVideo = type == CallInitiate.definition.type ? try payload[Self.isVideo] : false
        self.reason = type == CallEnd.definition.type ? try payload[Self.reason] : nil
    }

    /// The message that the signature covers (spec §3.5).
    package var canonical: CanonicalMessage {
        func text(_ bytes: [UInt8]) -> String { String(decoding: Base64.encode(bytes), as: UTF8.self) }
        return CanonicalMessage(
            type: self.type, messageID: "\(self.callID)", from: "\(self.from)", toOrGroupID: "\(self.to)",
            timestamp: self.timestamp.milliseconds, nonce: text(self.nonce), ciphertext: text(self.ciphertext))
    }

    package init(
        _ type: String, callID: UUIDText, from: WhisperID, to: WhisperID, timestamp: Timestamp, nonce: [UInt8],
        ciphertext: [UInt8], signature: Bytes64, isVideo: Bool = false, reason: String? = nil
    ) {
        (self.type, self.callID, self.from, self.to, self.timestamp) = (type, callID, from, to, timestamp)
        (self.nonce, self.ciphertext, self.signature) = (nonce, ciphertext, signature)
        (self.isVideo, self.reason) = (isVideo, reason)
    }

    /// The payload as the other side gets it: what was sent, less versions and session.
    package func relayed() -> [UInt8] {
        var json = JSONWriter(capacity: 1_024)
        self.write(to: &json)
        return json.finished()
    }

    fileprivate func write(to json: inout JSONWriter) {
        json.add(Self.callID, self.callID)
        json.add(CommonFields.from, self.from)
        json.add(CommonFields.to, self.to)
        json.add(CommonFields.timestamp, self.timestamp)
        json.add(CommonFields.nonce, self.nonce)
        json.add(CommonFields.ciphertext, self.ciphertext)
        json.add(CommonFields.signature, self.signature.bytes)
        if self.type == CallInitiate.definition.type { json.add(Self.isVideo, self.isVideo) }
        json.add(Self.reason, self.reason)
    }

    static let callID = TypedField.uuid("callId")
    static let isVideo = TypedField.bool("isVideo")
    static let reason = TypedField.word("reason", of: CallEnd.reasons).optional

    static let fields = CommonFields.privileged + [Self.callID.field] + CommonFields.parties + CommonFields.sealed
    static let rules: [FrameRule] = [.differ("to", "from")]
    static let refusals: [(code: ErrorCode, when: String)] = [
        (.notFound, "There is no such call, it is over, or the caller is not part of it.")
    ]
    static func sample(_ more: String = "") -> String {
        CommonFields.sample(#""callId":"c1d2e3f4-0f7c-4e51-9d0c-3c7d1d2b7a10","# + CommonFields.signedSample + more)
    }

    /// The fields that the other side gets.
    static let forwarded =
        [Self.callID.field, CommonFields.from.about("").field, CommonFields.to.field] + CommonFields.sealed
    static func forwardedSample(_ more: String = "") -> String {
        #"{"callId":"c1d2e3f4-0f7c-4e51-9d0c-3c7d1d2b7a10","# + CommonFields.signedSample + more + "}"
    }
}
