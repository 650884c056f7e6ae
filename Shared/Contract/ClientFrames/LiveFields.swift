/// Fields that frames of live conversations share, with their samples.
enum LiveFields {
    /// P of contract §14.2: exactly one of the two tokens.
    static let either = CommonFields.privileged + [CommonFields.guestToken]
    static let conversation = TypedField.conversationID("conversationId", about: "CID of contract §14.2.")
    static let profile = TypedField.lowerCaseUUID("profileId")
    static let content = TypedField.lowerCaseUUID("contentId", about: "Names one session of whispering.")
    static let listener = TypedField.principalID("listener")
    static let from = TypedField.principalID("from", about: "The sender's own id.")
    static let to = TypedField.principalID("to", about: "The listener.")
    static let signPublicKey = TypedField.base64("signPublicKey", Limits.publicKey, about: "Ed25519.")
    static let encPublicKey = TypedField.base64("encPublicKey", Limits.publicKey, about: "X25519.")
    static let linkVerifier = TypedField.base64(
        "linkVerifier", LiveLimits.secret, about: "SHA-256 of the link's proof.")
    static let linkProof = TypedField.base64(
        "linkProof", LiveLimits.secret, about: "From the secret in the link's fragment.")
    static let transcriptDays = TypedField.integer(
        "transcriptDays", LiveLimits.transcriptDays, about: "How long lines are kept. 0: not at all.")
    static let timestamp = CommonFields.timestamp
    static let nonce = TypedField.base64("nonce", LiveLimits.nonce)
    static func ciphertext(_ range: ClosedRange<Int>) -> TypedField<[UInt8]> { .base64("ciphertext", range) }
    static let signature = CommonFields.signature
    static let epoch = TypedField.integer(
        "epoch", 0...LiveLimits.sequence.upperBound, about: "Counts every taking of the stream.")
    static let generation = TypedField.integer(
        "generation", LiveLimits.generations, about: "The newest content keys, from 1.")
    static let state = TypedField<LiveStreamState>.choice("state")
    static let isTranscribed = TypedField.bool("isTranscribed", about: "Lines are kept.")

    static let sampleConversation = #""conversationId":"3f0c2b1a-9d8e-4c7b-a605-f4e3d2c1b0a9""#
    static let sampleProfile = #""profileId":"5b0c7a5e-2f0d-4f6b-8d55-0c4b7d1f2a61""#
    static let sampleContent = #""contentId":"c1d2e3f4-0f7c-4e51-9d0c-3c7d1d2b7a10""#
    static let sampleKeys =
        #""signPublicKey":"vZMMu/hWu3byxfZMBioplEzGBlulS5r3JC0r/eXX2Vs=","encPublicKey":"sDIJgXeFcL7/uym2I3ZCEVuAxxT/L6/TmbmJ3JS6ijg=""#
    static let sampleGuest = "gst-000102030405060708090a0b0c0d0e0f"
    static let sampleIdentity = "WSP-JBPU-D452-TLT4"
    static let sampleSecret = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
    static let sampleSignature =
        "oofhBFIEzdUuTLSm/1BQ3QmWPc97/792V5wdhGBJGGKkzbIP/Z0792BlgcrrNuqW4E6vGKjFkLzHGU0nS80cAg=="
    /// 48 bytes behind the sender's key and in front of the tag, and more: long enough for a SEALED and a BOX.
    static let sampleSealed =
        #""nonce":"AAECAwQFBgcICQoL","ciphertext":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+Pw==""#
    /// LSIGN of contract §14.2.
    static func sampleSigned(from: String = Self.sampleIdentity) -> String {
        #""from":"\#(from)","timestamp":1730000000000,\#(Self.sampleSealed),"sig":"\#(Self.sampleSignature)""#
    }
    /// A sample payload of a P frame of a guest.
    static func guestSample(_ members: String = "") -> String {
        #"{"protocolVersion":1,"cryptoVersion":1,"guestToken":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA""#
            + (members.isEmpty ? "" : ",") + members + "}"
    }

    static let notFound: (code: ErrorCode, when: String) = (
        .notFound, "There is no such conversation for this caller."
    )
    static let untimely: (code: ErrorCode, when: String) = (
        .invalidTimestamp, "The timestamp is more than 10 minutes from the server's time."
    )
}

/// A seal that somebody has signed: LSIGN of contract §14.2. Nobody but whom it is for can read it.
package struct LiveSigned: Hashable, Sendable {
    package var from: PrincipalID
    package var timestamp: Timestamp
    package var nonce: [UInt8]
    package var ciphertext: [UInt8]
    package var signature: Bytes64

    package init(from: PrincipalID, timestamp: Timestamp, nonce: [UInt8], ciphertext: [UInt8], signature: Bytes64) {
        self.from = from
        self.timestamp = timestamp
        self.nonce = nonce
        self.ciphertext = ciphertext
        self.signature = signature
    }

    /// Reads LSIGN that stands in a payload.
    /// - Parameter range: of the ciphertext, in bytes.
    init(_ payload: Payload, ciphertext range: ClosedRange<Int>) throws(Payload.Corrupted) {
        guard let signature = Bytes64(try payload[LiveFields.signature]) else { throw Payload.Corrupted() }
        self.init(
            from: try payload[LiveFields.from], timestamp: try payload[LiveFields.timestamp],
            nonce: try payload[LiveFields.nonce], ciphertext: try payload[LiveFields.ciphertext(range)],
            signature: signature)
    }

    static func fields(ciphertext range: ClosedRange<Int>) -> [Field] {
        [
            LiveFields.from.field, LiveFields.timestamp.field, LiveFields.nonce.field,
            LiveFields.ciphertext(range).field, LiveFields.signature.field,
        ]
    }

    func write(to json: inout JSONWriter, ciphertext range: ClosedRange<Int>) {
        json.add(LiveFields.from, self.from)
        json.add(LiveFields.timestamp, self.timestamp)
        json.add(LiveFields.nonce, self.nonce)
        json.add(LiveFields.ciphertext(range), self.ciphertext)
        json.add(LiveFields.signature, self.signature.bytes)
    }

    /// The message that the signature covers (contract §14.5).
    package func message(_ statement: LiveSignature, of conversation: ConversationID) -> CanonicalMessage {
        statement.message(
            of: conversation, from: self.from, timestamp: self.timestamp, nonce: Base64.text(self.nonce),
            ciphertext: Base64.text(self.ciphertext))
    }
}
