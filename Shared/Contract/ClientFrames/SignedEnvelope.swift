/// One message for one recipient, as its sender signed it: what `send_message`, `group_send_message` and the evidence in
/// a `report` have in common.
package struct SignedEnvelope: Sendable {
    package let messageID: UUIDText
    package let from: WhisperID
    package let to: WhisperID
    /// Set for group mail. The signature then names the group instead of the recipient.
    package let groupID: UUIDText?
    package let timestamp: Timestamp
    package let signature: Bytes64
    private let payload: Payload
    private let places: Places
    /// Without unknown fields.
    private let attachment: Payload?

    /// Where the envelope's fields stand in a schema. A new field needs its place here and its line in `write`; else it is lost without an
    /// error. A field for routers alone is left out of `write` if the envelope is relayed.
    struct Places: Sendable {
        let messageID, from, to, msgType, timestamp, nonce, ciphertext, sig, replyTo, reactions, attachment: Int
        let groupID: Int?

        init(in schema: ObjectSchema) {
            func place(_ name: String) -> Int { schema.place(name) }
            self.messageID = place("messageId")
            self.from = place("from")
            self.to = place("to")
            self.msgType = place("msgType")
            self.timestamp = place("timestamp")
            self.nonce = place("nonce")
            self.ciphertext = place("ciphertext")
            self.sig = place("sig")
            self.replyTo = place("replyTo")
            self.reactions = place("reactions")
            self.attachment = place("attachment")
            self.groupID = schema.index(of: GroupSendMessage.groupID.field)
        }
    }

    init(_ payload: Payload, _ places: Places) throws(Payload.Corrupted) {
        self.payload = payload
        self.places = places
        self.messageID = payload.uuid(places.messageID)
        self.from = payload.whisperID(places.from)
        self.to = payload.whisperID(places.to)
        self.groupID = places.groupID.flatMap { payload.has($0) ? payload.groupID($0) : nil }
        self.timestamp = payload.timestamp(places.timestamp)
        self.signature = Bytes64(payload.bytes(places.sig))!
        self.attachment = try payload.object(places.attachment)
    }

    /// The object that the message points to (spec §6.3).
    package var attachmentKey: String? {
        self.attachment?.text(Self.objectKey)
    }

    private static let objectKey = CommonFields.attachment.place(CommonFields.objectKey.field.name)

    /// The kind of content in `ciphertext`, as the sender says.
    package var msgType: String { self.payload.text(self.places.msgType) }
    /// Base64, as signed.
    package var nonce: String { self.payload.text(self.places.nonce) }
    package var ciphertext: String { self.payload.text(self.places.ciphertext) }

    /// The bytes that the signature covers (see `CanonicalMessage`), handed over piece by piece for hashing.
    package func canonicalBytes(_ update: (UnsafeBufferPointer<UInt8>) -> Void) {
        var head: [UInt8] = []
        head.reserveCapacity(256)
        head += (self.groupID == nil ? "v1\nsend_message\n" : "v1\ngroup_send_message\n").utf8
        self.messageID.forEachByte { head.append($0) }
        head.append(UInt8(ascii: "\n"))
        self.from.forEachByte { head.append($0) }
        head.append(UInt8(ascii: "\n"))
        if let groupID {
            head += GroupIDText.prefix.utf8
            groupID.forEachByte { head.append($0) }
        } else {
            self.to.forEachByte { head.append($0) }
        }
        head.append(UInt8(ascii: "\n"))
        head += String(self.timestamp.milliseconds).utf8
        head.append(UInt8(ascii: "\n"))
        self.payload.withText(self.places.nonce) { head += $0 }
        head.append(UInt8(ascii: "\n"))
        head.withUnsafeBufferPointer(update)
        self.payload.withText(self.places.ciphertext, update)
        [UInt8(ascii: "\n")].withUnsafeBufferPointer(update)
    }

    /// The payload of the recipient's `message_received` (spec §4.2): what was sent, less versions and session.
    package func relayed() -> [UInt8] {
        let size = self.payload.withText(self.places.ciphertext) { $0.count }
        var writer = JSONWriter(capacity: size + 512)
        self.write(to: &writer, isRelayed: true)
        return writer.finished()
    }

    /// - Parameter isRelayed: whether members that the sender left out stand there without a value.
    fileprivate func write(to writer: inout JSONWriter, isRelayed: Bool) {
        let (payload, places) = (self.payload, self.places)
        writer.add("messageId", self.messageID)
        writer.add("from", self.from)
        writer.add("to", self.to)
        if self.groupID != nil, let groupID = places.groupID { writer.add("groupId", groupID, of: payload) }
        writer.add("msgType", places.msgType, of: payload)
        writer.add("timestamp", self.timestamp)
        writer.add("nonce", places.nonce, of: payload)
        writer.add("ciphertext", places.ciphertext, of: payload)
        writer.add("sig", places.sig, of: payload)
        if payload.has(places.replyTo) { writer.add("replyTo", places.replyTo, of: payload) }
        if payload.has(places.reactions) {
            writer.add("reactions", places.reactions, of: payload)
        } else if isRelayed {
            writer.add("reactions", json: "{}".utf8)
        }
        if let attachment {
            writer.add("attachment", json: attachment.source)
        } else if isRelayed {
            writer.add("attachment", json: "null".utf8)
        }
    }

    /// The message's id in bytes that `relayed` has written. It is their first member, so nothing is parsed.
    package static func messageID(inRelayed payload: [UInt8]) -> String {
        String(
            decoding: payload.dropFirst(#"{"messageId":""#.utf8.count).prefix(UUIDText.textLength), as: UTF8.self)
    }

    /// The payload of `message_received` without its unsigned fields, except `to`, which the signature does not cover in
    /// group mail. Code that stores this compares `to` with what it knows.
    package func signedPart() -> [UInt8] {
        let (payload, places) = (self.payload, self.places)
        var writer = JSONWriter(capacity: payload.withText(places.ciphertext) { $0.count } + 512)
        writer.add("messageId", self.messageID)
        writer.add("from", self.from)
        writer.add("to", self.to)
        if self.groupID != nil, let groupID = places.groupID { writer.add("groupId", groupID, of: payload) }
        writer.add("timestamp", self.timestamp)
        writer.add("nonce", places.nonce, of: payload)
        writer.add("ciphertext", places.ciphertext, of: payload)
        writer.add("sig", places.sig, of: payload)
        return writer.finished()
    }
}

extension SignedEnvelope: ObjectValue {
    static var schema: ObjectSchema { MessageReceived.schema }

    /// As it stands in evidence.
    init(_ payload: Payload) throws(Payload.Corrupted) { try self.init(payload, MessageReceived.places) }

    /// An envelope from its parts, as text that the signature covers: a new one, or evidence of a received one.
    /// - Parameter attachment: JSON.
    /// - Throws: if a part is of another form, or too long.
    package init(
        messageID: String, from: String, to: String, groupID: String?, msgType: String, timestamp: Int64,
        nonce: String, ciphertext: String, signature: String, attachment: [UInt8]? = nil
    ) throws(PayloadViolation) {
        var json = JSONWriter(capacity: ciphertext.utf8.count + 512)
        json.add("messageId", messageID)
        json.add("from", from)
        json.add("to", to)
        json.add("groupId", groupID)
        json.add("msgType", msgType)
        json.add("timestamp", timestamp)
        json.add("nonce", nonce)
        json.add("ciphertext", ciphertext)
        json.add("sig", signature)
        if let attachment { json.add("attachment", json: attachment) }
        let payload = try FrameDecoder.payload(bare: json.finished(), schema: Self.schema)
        do throws(Payload.Corrupted) { try self.init(payload) } catch { throw PayloadViolation("", "cannot be read") }
    }

    /// The sender's fields, without versions and session.
    package var json: [UInt8] {
        var json = JSONWriter(capacity: self.payload.withText(self.places.ciphertext) { $0.count } + 512)
        self.write(to: &json, isRelayed: false)
        return json.finished()
    }
}

/// A frame that is one signed envelope.
package protocol EnvelopeFrame: ClientFrame {
    var envelope: SignedEnvelope { get }
}

extension EnvelopeFrame {
    package var messageID: UUIDText { self.envelope.messageID }
    package var from: WhisperID { self.envelope.from }
    package var to: WhisperID { self.envelope.to }
    package var timestamp: Timestamp { self.envelope.timestamp }
    package var signature: Bytes64 { self.envelope.signature }
    package func canonicalBytes(_ update: (UnsafeBufferPointer<UInt8>) -> Void) { self.envelope.canonicalBytes(update) }
    package func relayed() -> [UInt8] { self.envelope.relayed() }
    package func write(to json: inout JSONWriter) { self.envelope.write(to: &json, isRelayed: false) }
}
