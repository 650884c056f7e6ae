package import Contract

/// The identity that a phone nearby claims. Any phone can claim it: the proof counts.
package struct NearbyHello: Sendable, Equatable {
    package var id: WhisperID
    package var keys: PublicKeys
    /// Fresh random bytes, for this connection alone.
    package var nonce: [UInt8]

    package init(id: WhisperID, keys: PublicKeys, nonce: [UInt8]) {
        self.id = id
        self.keys = keys
        self.nonce = nonce
    }

    /// The signed bytes of a proof. They name both phones, with their keys, for this connection alone. No other
    /// signature of ours begins so.
    package static func proof(of prover: NearbyHello, to other: NearbyHello) -> [UInt8] {
        var lines = ["whisper-nearby-v1", "proof"]
        for hello in [prover, other] {
            lines.append("\(hello.id)")
            lines += [hello.keys.sign.bytes, hello.keys.box.bytes, hello.nonce].map {
                String(decoding: Base64.encode($0), as: UTF8.self)
            }
        }
        return lines.flatMap { Array($0.utf8) + [UInt8(ascii: "\n")] }
    }
}

/// The status of our message at a phone nearby.
package enum NearbyStatus: String, Sendable, CaseIterable { case delivered, read }

/// A receipt of a phone nearby for a message that it has.
package struct NearbyReceipt: Sendable, Equatable {
    package var id: UUIDText
    package var from: WhisperID
    package var to: WhisperID
    package var status: NearbyStatus

    package init(id: UUIDText, from: WhisperID, to: WhisperID, _ status: NearbyStatus) {
        (self.id, self.from, self.to, self.status) = (id, from, to, status)
    }

    /// The signed bytes of a receipt. Both nonces bind it to one connection, so that a relay can neither forge nor
    /// reuse it.
    package func signed(by writer: NearbyHello, for reader: NearbyHello) -> [UInt8] {
        let nonces = [writer.nonce, reader.nonce].map { String(decoding: Base64.encode($0), as: UTF8.self) }
        let lines =
            ["whisper-nearby-v1", "receipt", "\(self.id)", self.status.rawValue, "\(self.from)", "\(self.to)"] + nonces
        return lines.flatMap { Array($0.utf8) + [UInt8(ascii: "\n")] }
    }
}

/// A value between two Whisper phones: an object in JSON. Unknown fields are ignored.
package enum NearbyWord: Sendable {
    case hello(NearbyHello)
    case proof(signature: [UInt8])
    /// The payload of a `message_received`: signed and sealed as for the server.
    case message(MessageReceived)
    case receipt(NearbyReceipt, signature: [UInt8])
    /// A word of a later release.
    case unknown

    private static let type = TypedField.text("type", 1...32)
    private static let version = TypedField.integer("version", 1...Int64.max)
    private static let id = TypedField.whisperID("id")
    private static let signKey = TypedField.base64("signPublicKey", 32...32)
    private static let encKey = TypedField.base64("encPublicKey", 32...32)
    private static let nonce = TypedField.base64("nonce", NearbyLimits.nonceBytes...NearbyLimits.nonceBytes)
    private static let signature = TypedField.base64("signature", 64...64)
    private static let messageID = TypedField.uuid("messageId")
    private static let from = TypedField.whisperID("from")
    private static let to = TypedField.whisperID("to")
    private static let status = TypedField<NearbyStatus>.choice("status")
    private static let message = Field("message", .object(MessageReceived.schema))

    private static let any = ObjectSchema([Self.type.field])
    private static let hello = ObjectSchema([
        Self.version.field, Self.id.field, Self.signKey.field, Self.encKey.field, Self.nonce.field,
    ])
    private static let proof = ObjectSchema([Self.signature.field])
    private static let mail = ObjectSchema([Self.message])
    private static let receipt = ObjectSchema([
        Self.messageID.field, Self.from.field, Self.to.field, Self.status.field, Self.signature.field,
    ])

    /// - Returns: `nil` if the bytes are no word, or larger than a value may be.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count <= NearbyLimits.valueBytesMax, String(validating: bytes, as: UTF8.self) != nil,
            let type = try? FrameDecoder.payload(bare: bytes, schema: Self.any)[Self.type],
            let word = try? Self.read(type, bytes)
        else { return nil }
        self = word
    }

    private static func read(_ type: String, _ bytes: [UInt8]) throws -> NearbyWord? {
        switch type {
        case "hello":
            let payload = try FrameDecoder.payload(bare: bytes, schema: Self.hello)
            guard let sign = Bytes32(try payload[Self.signKey]), let box = Bytes32(try payload[Self.encKey]) else {
                return nil
            }
            return .hello(
                NearbyHello(
                    id: try payload[Self.id], keys: PublicKeys(sign: sign, box: box), nonce: try payload[Self.nonce]))
        case "proof":
            return .proof(
                signature: try FrameDecoder.payload(bare: bytes, schema: Self.proof)[Self.signature])
        case "message":
            let payload = try FrameDecoder.payload(bare: bytes, schema: Self.mail)
            return try payload.object(0).map { .message(try MessageReceived($0)) }
        case "receipt":
            let payload = try FrameDecoder.payload(bare: bytes, schema: Self.receipt)
            let receipt = NearbyReceipt(
                id: try payload[Self.messageID], from: try payload[Self.from], to: try payload[Self.to],
                try payload[Self.status])
            return .receipt(receipt, signature: try payload[Self.signature])
        default: return .unknown
        }
    }

    // MARK: Writing

    package static func bytes(of hello: NearbyHello) -> [UInt8] {
        var json = JSONWriter(capacity: 256)
        json.add(Self.type, "hello")
        json.add(Self.version, 1)
        json.add(Self.id, hello.id)
        json.add(Self.signKey, hello.keys.sign.bytes)
        json.add(Self.encKey, hello.keys.box.bytes)
        json.add(Self.nonce, hello.nonce)
        return json.finished()
    }

    package static func bytes(ofProof signature: [UInt8]) -> [UInt8] {
        var json = JSONWriter()
        json.add(Self.type, "proof")
        json.add(Self.signature, signature)
        return json.finished()
    }

    /// - Throws: if a part does not fit the frame's schema, for example because the message is too long.
    package static func bytes(of message: SealedMessage, type: String) throws(PayloadViolation) -> [UInt8] {
        let envelope = try message.envelope(type)
        var json = JSONWriter(capacity: message.ciphertext.utf8.count + 512)
        json.add(Self.type, "message")
        json.add("message", json: envelope.json)
        return json.finished()
    }

    package static func bytes(of receipt: NearbyReceipt, signature: [UInt8]) -> [UInt8] {
        var json = JSONWriter()
        json.add(Self.type, "receipt")
        json.add(Self.messageID, receipt.id)
        json.add(Self.from, receipt.from)
        json.add(Self.to, receipt.to)
        json.add(Self.status, receipt.status)
        json.add(Self.signature, signature)
        return json.finished()
    }
}
