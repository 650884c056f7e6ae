import Contract
import FoundationEssentials

/// The member `attachment` of a message: where its file is, and the file's key for one reader (spec §6.3).
///
/// The message's signature does not cover it. The box is of the sender for the reader, and the nonce stands in the sealed
/// message too: so a server cannot put the file of one message into another.
struct FilePointer: Codable, Sendable, Equatable {
    struct Box: Codable, Sendable, Equatable {
        var nonce: String
        var ciphertext: String
    }

    var objectKey: String
    var contentType: String
    var ciphertextSize: Int64
    var fileNonce: String
    var fileKeyBox: Box

    init(
        _ details: FileDetails, _ secret: FileSecret, objectKey: String, reader: PublicKeys, keys: IdentityKeys
    ) throws(KeyError) {
        func text(_ bytes: [UInt8]) -> String { String(decoding: Base64.encode(bytes), as: UTF8.self) }
        let nonce = Sodium.random(Limits.nonceBytes)
        let box = try keys.box(secret.key.bytes, nonce: nonce, to: reader)
        self.objectKey = objectKey
        self.contentType = details.type
        self.ciphertextSize = details.sealedSize
        self.fileNonce = text(secret.nonce)
        self.fileKeyBox = Box(nonce: text(nonce), ciphertext: text(box))
    }

    /// The pointer in a received message.
    /// - Returns: `nil` if it has none.
    init?(_ incoming: MessageReceived) {
        struct Payload: Decodable { var attachment: FilePointer? }
        guard incoming.envelope.attachmentKey != nil,
            let pointer = FileExchange.decode(Payload.self, incoming.json)?.attachment
        else { return nil }
        self = pointer
    }

    /// Opens the box.
    /// - Returns: `nil` if anything of it cannot be used.
    func secret(from writer: PublicKeys, keys: IdentityKeys) -> FileSecret? {
        guard FileSecret.isObjectKey(self.objectKey), let nonce = Base64.decode(self.fileNonce),
            nonce.count == Limits.nonceBytes, let boxNonce = Base64.decode(self.fileKeyBox.nonce),
            let box = Base64.decode(self.fileKeyBox.ciphertext),
            let key = try? keys.openBox(box, nonce: boxNonce, from: writer), key.count == FileSecret.keyBytes
        else { return nil }
        return FileSecret(objectKey: self.objectKey, nonce: nonce, key: SecretBytes(key))
    }
}

extension MessageReceived {
    /// The secret that opens the file of a message.
    /// - Returns: `nil` if the envelope names another file, or nothing that can be used.
    func secret(
        of details: FileDetails, nonce: [UInt8], from writer: PublicKeys, keys: IdentityKeys
    ) -> FileSecret? {
        guard let pointer = FilePointer(self), let secret = pointer.secret(from: writer, keys: keys),
            secret.nonce == nonce, pointer.ciphertextSize == details.sealedSize
        else { return nil }
        return secret
    }

    /// The file of a client that says nothing of it in the sealed message: file and type are the server's word.
    func foreignFile(from writer: PublicKeys, keys: IdentityKeys) -> (Attachment?, FileSecret?) {
        guard let pointer = FilePointer(self), let secret = pointer.secret(from: writer, keys: keys),
            FileDetails.isType(pointer.contentType)
        else { return (nil, nil) }
        let size = pointer.ciphertextSize - Int64(SecretboxPieces.tagBytes)
        guard (0...Limits.fileBytesMax).contains(size) else { return (nil, nil) }
        let details = FileDetails(name: nil, type: pointer.contentType, size: size, isUnsigned: true)
        return (Attachment(details: details, state: .offered), secret)
    }
}

extension FileSecret {
    static let keyBytes = 32

    /// For a new file.
    package static func random() -> FileSecret {
        FileSecret(
            objectKey: nil, nonce: Sodium.random(Limits.nonceBytes), key: SecretBytes(Sodium.random(Self.keyBytes)))
    }
}

/// Bodies of requests and answers about files (contract §9).
enum FileExchange {
    static let presignPath = "/attachments/presign"
    static func downloadPath(_ objectKey: String) -> String { "/attachments/\(objectKey)/download" }

    struct Presign: Encodable {
        var contentType: String
        var sizeBytes: Int64
        var purpose = "message_attachment"
    }

    struct Presigned: Decodable {
        var uploadUrl: String
        var objectKey: String
        var expiresAt: Int64
        var headers: [String: String]
    }

    struct Download: Decodable {
        var downloadUrl: String
    }

    static func decode<Body: Decodable>(_ type: Body.Type, _ body: [UInt8]) -> Body? {
        try? JSONDecoder().decode(type, from: Data(body))
    }

    static func encode(_ body: some Encodable) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes]
        // Plain values: encoding them cannot fail.
        return try! Array(encoder.encode(body))
    }
}
