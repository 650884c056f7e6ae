package import Contract
import FoundationEssentials

/// The content of a listener's knock, which only the whisperer can read (contract §14.7).
package struct KnockNote: Codable, Sendable, Equatable {
    package var name: String
    /// HMAC with the link's key, in base64: it proves that the listener has the link and the id that it claims.
    var tag: String
    package var passcode: String?
    package var note: String?
    /// The public key of the listener's profile and its signature, in base64: other devices of the person show it, too.
    private var profileKey: String?
    private var profileSig: String?

    /// Bytes of a note. Without room the profile is left out: the whisperer then asks as about a stranger.
    private static let bytesMax = LiveLimits.knockCiphertext.upperBound - LiveLimits.boxOverheadBytes

    package init(
        name: String, passcode: String?, note: String?, by listener: PrincipalID, on conversation: ConversationID,
        at time: Timestamp, link: LinkKeys
    ) {
        self.name = name
        self.passcode = passcode
        self.note = note
        self.tag = Data(link.tag(ofKnockBy: listener, on: conversation, at: time)).base64EncodedString()
    }

    /// - Returns: `nil` if the name or the note breaks the contract's rules.
    init?(_ bytes: [UInt8]) {
        guard let note = try? JSONDecoder().decode(Self.self, from: Data(bytes)), isName(note.name),
            note.note.map({ LiveLimits.noteScalars.contains($0.unicodeScalars.count) }) ?? true
        else { return nil }
        self = note
    }

    /// The same note of a device of a profile.
    func naming(_ profile: ProfileKeys, of listener: PrincipalID, on conversation: ConversationID) -> KnockNote {
        var note = self
        let membership = profile.membership(of: listener, in: conversation)
        note.profileKey = Data(membership.key).base64EncodedString()
        note.profileSig = Data(membership.signature).base64EncodedString()
        return note.json.count <= Self.bytesMax ? note : self
    }

    // Our own plain values: encoding them cannot fail.
    private var json: [UInt8] { try! Array(JSONEncoder().encode(self)) }

    /// - Returns: `nil` unless the profile has signed that this listener is one of its devices.
    func profile(of listener: PrincipalID, on conversation: ConversationID) -> Bytes32? {
        guard let key = self.profileKey.flatMap({ Base64.decode($0) }).flatMap({ Bytes32($0) }),
            let signature = self.profileSig.flatMap({ Base64.decode($0) }),
            Sodium.verify(
                signature, of: Sodium.sha256(LiveStatement.membership(of: listener, in: conversation)),
                publicKey: key.bytes)
        else { return nil }
        return key
    }

    func hasTag(by listener: PrincipalID, on conversation: ConversationID, at time: Timestamp, link: LinkKeys) -> Bool {
        guard let tag = Base64.decode(self.tag) else { return false }
        return link.isTag(tag, ofKnockBy: listener, on: conversation, at: time)
    }

    /// Boxed for the conversation and signed by the listener.
    package func sealed(
        for conversation: ConversationID, keys: PublicKeys, from listener: PrincipalID, at time: Timestamp,
        signer: KeyPair
    ) throws(KeyError) -> LiveSigned {
        try LiveSigned(
            boxing: self.json, to: keys, as: .knock, of: conversation, from: listener, at: time, signer: signer)
    }
}

/// The content key of one generation, for one listener (contract §14.7).
struct GrantNote: Codable {
    var generation: Int
    /// 32 bytes in base64.
    var key: String

    init(_ key: ContentKey) {
        self.generation = key.generation
        self.key = Data(key.key.bytes).base64EncodedString()
    }

    /// - Returns: `nil` if these are no content key, or its generation differs from the given one.
    static func contentKey(_ bytes: [UInt8], generation: Int) -> ContentKey? {
        guard let note = try? JSONDecoder().decode(Self.self, from: Data(bytes)), note.generation == generation,
            let key = Base64.decode(note.key), key.count == LiveLimits.secretBytes
        else { return nil }
        return ContentKey(generation: generation, key: SecretBytes(key))
    }
}

/// The whisperer's note to a refused listener (contract §14.7).
struct RefusalNote: Codable {
    var note: String?

    init(note: String?) { self.note = note }

    init?(_ bytes: [UInt8]) {
        guard let note = try? JSONDecoder().decode(Self.self, from: Data(bytes)) else { return nil }
        self = note
    }
}

extension ConversationKeys {
    func grant(
        _ key: ContentKey, to listener: PrincipalID, keys: PublicKeys, from device: WhisperID, at time: Timestamp
    ) throws(KeyError) -> LiveSigned {
        // Our own plain values: encoding them cannot fail.
        let bytes = try! Array(JSONEncoder().encode(GrantNote(key)))
        return try LiveSigned(
            boxing: bytes, to: keys, as: .grant(to: listener), of: self.id, from: .identity(device), at: time,
            signer: self.pair)
    }

    func refusal(
        note: String?, to listener: PrincipalID, keys: PublicKeys, from device: WhisperID, at time: Timestamp
    ) throws(KeyError) -> LiveSigned {
        // Our own plain values: encoding them cannot fail.
        let bytes = try! Array(JSONEncoder().encode(RefusalNote(note: note)))
        return try LiveSigned(
            boxing: bytes, to: keys, as: .refuse(to: listener), of: self.id, from: .identity(device), at: time,
            signer: self.pair)
    }
}

extension LiveSigned {
    /// - Throws: `.weakKey` if the reader's key is of low order.
    fileprivate init(
        boxing bytes: [UInt8], to reader: PublicKeys, as kind: LiveSignature, of conversation: ConversationID,
        from: PrincipalID, at time: Timestamp, signer: KeyPair
    ) throws(KeyError) {
        let box = try SealedBox(
            bytes, to: reader.box, ephemeral: SecretBytes(Sodium.random(LiveLimits.secretBytes)),
            nonce: Sodium.random(LiveLimits.nonceBytes),
            vouchingFor: LiveSeals.box(type: kind.type, id: "\(conversation)"))
        self.init(box.sealed, as: kind, of: conversation, from: from, timestamp: time, signer: signer)
    }

    /// - Returns: `nil` if these keys did not sign the box, or the box is not for the reader.
    func opened(
        as kind: LiveSignature, of conversation: ConversationID, signedBy keys: PublicKeys, reader: KeyPair
    ) -> [UInt8]? {
        guard self.isSigned(as: kind, of: conversation, by: keys) else { return nil }
        let data = LiveSeals.box(type: kind.type, id: "\(conversation)")
        let sealed = SealedBytes(nonce: self.nonce, ciphertext: self.ciphertext)
        return try? reader.open(SealedBox(sealed), vouchingFor: data)
    }
}
