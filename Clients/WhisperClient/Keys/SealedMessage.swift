package import Contract

/// One message as it travels: encrypted for its reader and signed by its writer.
package struct SealedMessage: Sendable, Equatable {
    package var messageID: String
    package var from: String
    package var to: String
    /// Set for group mail: the signature then names the group instead of the reader.
    package var groupID: String?
    package var timestamp: Int64
    package var nonce: String
    package var ciphertext: String
    package var signature: String

    package init(
        messageID: String, from: String, to: String, groupID: String?, timestamp: Int64, nonce: String,
        ciphertext: String, signature: String
    ) {
        self.messageID = messageID
        self.from = from
        self.to = to
        self.groupID = groupID
        self.timestamp = timestamp
        self.nonce = nonce
        self.ciphertext = ciphertext
        self.signature = signature
    }

    /// As it came.
    package init(_ envelope: SignedEnvelope) {
        self.init(
            messageID: "\(envelope.messageID)", from: "\(envelope.from)", to: "\(envelope.to)",
            groupID: envelope.groupID.map { "\(GroupIDText.prefix)\($0)" }, timestamp: envelope.timestamp.milliseconds,
            nonce: envelope.nonce, ciphertext: envelope.ciphertext,
            signature: String(decoding: Base64.encode(envelope.signature.bytes), as: UTF8.self))
    }

    /// Encrypts and signs.
    /// - Parameters:
    ///   - body: what the reader is to get (`MessageBody`).
    ///   - nonce: 24 fresh random bytes.
    package init(
        _ body: [UInt8], messageID: String, from: WhisperID, to: WhisperID, groupID: String? = nil,
        reader: PublicKeys, timestamp: Timestamp,
        nonce: [UInt8], keys: IdentityKeys
    ) throws(KeyError) {
        let ciphertext = try keys.box(body, nonce: nonce, to: reader)
        self.init(
            messageID: messageID, from: "\(from)", to: "\(to)", groupID: groupID, timestamp: timestamp.milliseconds,
            nonce: String(decoding: Base64.encode(nonce), as: UTF8.self),
            ciphertext: String(decoding: Base64.encode(ciphertext), as: UTF8.self), signature: "")
        self.signature = String(decoding: Base64.encode(keys.sign(self.canonical)), as: UTF8.self)
    }

    /// As a frame carries it.
    /// - Parameter type: `text`, `image`, …
    /// - Throws: if a part does not fit the frame's schema, for example because the message is too long.
    func envelope(_ type: String, file: FilePointer? = nil) throws(PayloadViolation) -> SignedEnvelope {
        try SignedEnvelope(
            messageID: self.messageID, from: self.from, to: self.to, groupID: self.groupID, msgType: type,
            timestamp: self.timestamp, nonce: self.nonce, ciphertext: self.ciphertext, signature: self.signature,
            attachment: file.map { FileExchange.encode($0) })
    }

    /// The signed text, in the spelling received.
    package var canonical: CanonicalMessage {
        CanonicalMessage(
            type: self.groupID == nil ? "send_message" : "group_send_message", messageID: self.messageID,
            from: self.from, toOrGroupID: self.groupID ?? self.to, timestamp: self.timestamp, nonce: self.nonce,
            ciphertext: self.ciphertext)
    }

    package func isSigned(by writer: PublicKeys) -> Bool {
        Base64.decode(self.signature).map {
            Sodium.verify($0, of: Sodium.sha256(self.canonical.bytes), publicKey: writer.sign.bytes)
        } ?? false
    }

    /// Checks the signature with the writer's pinned keys, then decrypts.
    /// - Throws: `.unverified` if this is no signature of the writer's; `.unreadable` if it is, over a
    ///   message for other keys.
    package func open(writer: PublicKeys, keys: IdentityKeys) throws(SealError) -> [UInt8] {
        guard self.isSigned(by: writer) else { throw .unverified }
        guard let nonce = Base64.decode(self.nonce), let ciphertext = Base64.decode(self.ciphertext) else {
            throw .unreadable
        }
        do {
            return try keys.openBox(ciphertext, nonce: nonce, from: writer)
        } catch {
            throw .unreadable
        }
    }
}

package enum SealError: Error, Equatable {
    /// The signature is not of the pinned keys. Its maker is unknown: the server, a third party or the writer's own
    /// client. The message is kept apart and acknowledged: it will never verify.
    case unverified
    /// Truly from the writer, but not for our keys. Kept as unreadable and acknowledged: it will never get better.
    case unreadable
}
