/// "Deliver this to one person." Answered by `message_accepted` after the durable commit (contract §5, spec §4.1).
package struct SendMessage: Sendable {
    package let messageID: UUIDText
    package let from: WhisperID
    package let to: WhisperID
    package let timestamp: Timestamp
    package let signature: Bytes64
    private let payload: Payload

    package static let definition: FrameDefinition = FrameDefinition(
        "send_message", route: .mailbox(of: "to"),
        fields: CommonFields.privileged + [
            Field("messageId", .uuid), Field("from", .whisperID), Field("to", .whisperID),
            Field("msgType", .choice(["text", "image", "voice", "file", "system"])),
            Field("timestamp", .timestamp),
            Field("nonce", .base64(Limits.nonceBytes...Limits.nonceBytes)),
            Field("ciphertext", .base64(1...Limits.ciphertextBytesMax)),
            Field("sig", .base64(Limits.signatureBytes...Limits.signatureBytes)),
            Field("replyTo", .uuid, .optional),
            Field("reactions", .reactions, .optional),
            Field("attachment", .object(CommonFields.attachment), .optional),
        ],
        rule: { payload in
            let isText = payload.withText(Index.msgType) { $0.elementsEqual("text".utf8) }
            let characters = payload.withText(Index.ciphertext) { $0.count }
            if isText && characters > (Limits.textCiphertextBytesMax + 2) / 3 * 4 {
                return PayloadViolation(
                    "ciphertext", "must be base64 of 1 to \(Limits.textCiphertextBytesMax) bytes in a text message")
            }
            return payload.whisperID(Index.from) == payload.whisperID(Index.to)
                ? PayloadViolation("to", "must not be the sender") : nil
        },
        samples: [
            #"{"protocolVersion":1,"cryptoVersion":1,"sessionToken":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA","messageId":"9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10","from":"WSP-JBPU-D452-TLT4","to":"WSP-AAAA-AAAA-AAAA","msgType":"text","timestamp":1730000000000,"nonce":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYX","ciphertext":"Y2lwaGVydGV4dA==","sig":"oofhBFIEzdUuTLSm/1BQ3QmWPc97/792V5wdhGBJGGKkzbIP/Z0792BlgcrrNuqW4E6vGKjFkLzHGU0nS80cAg==","replyTo":"5b2c1f9e-1d5c-4a51-8b61-2f4ad4b2d3c0","reactions":{"👍":["WSP-JBPU-D452-TLT4"]},"attachment":null}"#,
            #"{"protocolVersion":1,"cryptoVersion":1,"sessionToken":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA","messageId":"9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a11","from":"WSP-JBPU-D452-TLT4","to":"WSP-AAAA-AAAA-AAAA","msgType":"image","timestamp":1730000000000,"nonce":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYX","ciphertext":"Y2lwaGVydGV4dA==","sig":"oofhBFIEzdUuTLSm/1BQ3QmWPc97/792V5wdhGBJGGKkzbIP/Z0792BlgcrrNuqW4E6vGKjFkLzHGU0nS80cAg==","attachment":{"objectKey":"att/2026/01/0f8fad5b-d9cb-469f-a165-70867728950e.bin","contentType":"image/jpeg","ciphertextSize":123456,"fileNonce":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYX","fileKeyBox":{"nonce":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYX","ciphertext":"Y2lwaGVydGV4dA=="}}}"#,
        ])

    private enum Index {
        static let messageID = SendMessage.definition.field("messageId")
        static let from = SendMessage.definition.field("from")
        static let to = SendMessage.definition.field("to")
        static let msgType = SendMessage.definition.field("msgType")
        static let timestamp = SendMessage.definition.field("timestamp")
        static let nonce = SendMessage.definition.field("nonce")
        static let ciphertext = SendMessage.definition.field("ciphertext")
        static let sig = SendMessage.definition.field("sig")
        static let replyTo = SendMessage.definition.field("replyTo")
        static let reactions = SendMessage.definition.field("reactions")
        static let attachment = SendMessage.definition.field("attachment")
    }

    package init(_ payload: Payload) {
        self.payload = payload
        self.messageID = payload.uuid(Index.messageID)
        self.from = payload.whisperID(Index.from)
        self.to = payload.whisperID(Index.to)
        self.timestamp = payload.timestamp(Index.timestamp)
        self.signature = Bytes64(payload.bytes(Index.sig))!
    }

    /// What the signature covers (see `CanonicalMessage`), handed over piece by piece for hashing.
    package func canonicalBytes(_ update: (UnsafeBufferPointer<UInt8>) -> Void) {
        var head: [UInt8] = []
        head.reserveCapacity(128)
        head += "v1\nsend_message\n".utf8
        self.messageID.forEachByte { head.append($0) }
        head.append(UInt8(ascii: "\n"))
        self.from.forEachByte { head.append($0) }
        head.append(UInt8(ascii: "\n"))
        self.to.forEachByte { head.append($0) }
        head.append(UInt8(ascii: "\n"))
        head += String(self.timestamp.milliseconds).utf8
        head.append(UInt8(ascii: "\n"))
        self.payload.withText(Index.nonce) { head += $0 }
        head.append(UInt8(ascii: "\n"))
        head.withUnsafeBufferPointer(update)
        self.payload.withText(Index.ciphertext, update)
        [UInt8(ascii: "\n")].withUnsafeBufferPointer(update)
    }

    /// The payload of the recipient's `message_received` (spec §4.2): what was sent, less versions and session.
    package func relayed() -> [UInt8] {
        let size = self.payload.withText(Index.ciphertext) { $0.count }
        var writer = JSONWriter(capacity: size + 512)
        writer.add("messageId", self.messageID)
        writer.add("from", self.from)
        writer.add("to", self.to)
        writer.add("msgType", Index.msgType, of: self.payload)
        writer.add("timestamp", self.timestamp)
        writer.add("nonce", Index.nonce, of: self.payload)
        writer.add("ciphertext", Index.ciphertext, of: self.payload)
        writer.add("sig", Index.sig, of: self.payload)
        if self.payload.has(Index.replyTo) { writer.add("replyTo", Index.replyTo, of: self.payload) }
        if self.payload.has(Index.reactions) {
            writer.add("reactions", Index.reactions, of: self.payload)
        } else {
            writer.add("reactions", json: "{}".utf8)
        }
        if self.payload.has(Index.attachment) {
            writer.add("attachment", Index.attachment, of: self.payload)
        } else {
            writer.add("attachment", json: "null".utf8)
        }
        return writer.finished()
    }
}
