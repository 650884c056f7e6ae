package import Contract
package import WhisperClient

/// Files that the host keeps sealed by itself, for example what it has downloaded (`wsp_file_seal`). The core keeps nothing of them.
extension Core {
    /// Seals a file with a key of its own. It blocks its thread, and needs memory for one piece.
    /// - Parameter target: where nothing stands. It is there when it is whole.
    /// - Returns: the answer, with the key.
    package func sealFile(from source: String, to target: String) throws(CoreError) -> [UInt8] {
        guard TransferFiles.canBeMade(at: target) else { throw CoreError(.file, field: "to") }
        let secret = FileSecret.random()
        let bytes: Int64
        do throws(FileFailure) { bytes = try TransferFiles.seal(source, to: target, secret) } catch {
            throw CoreError(.file, field: "from")
        }
        var result = JSONWriter()
        result.add("type", "fileSealed")
        result.add("bytes", bytes)
        result.add("key", object: secret) { secret, json in
            json.add(FileKey.key, secret.key.bytes)
            json.add(FileKey.nonce, secret.nonce)
        }
        var json = JSONWriter()
        json.add("result", json: result.finished())
        return json.finished()
    }

    /// The other way. Nothing stands at the target if the file is not what was sealed with the key.
    /// - Parameter key: as `sealFile` gave it.
    package func openFile(from source: String, to target: String, key: [UInt8]) throws(CoreError) -> [UInt8] {
        guard TransferFiles.canBeMade(at: target) else { throw CoreError(.file, field: "to") }
        let secret: FileSecret
        do {
            let fields = try FrameDecoder.payload(strict: key, schema: FileKey.schema)
            secret = FileSecret(
                objectKey: nil, nonce: try fields[FileKey.nonce], key: SecretBytes(try fields[FileKey.key]))
        } catch {
            throw CoreError(.invalidField, "is no key of a file", field: "key")
        }
        do throws(FileFailure) { try TransferFiles.open(sealed: source, to: target, secret) } catch {
            guard error == .damaged else { throw CoreError(.file, field: "from") }
            throw CoreError(.wrongKey, "The file is not what was sealed with this key.")
        }
        return CoreAnswer.ok
    }
}

/// Files that a program of this machine gives and reads by pieces. Nothing of them is plain on the disk.
extension Core {
    /// The largest files that a server takes, in bytes, and the largest that are worth fetching unasked.
    package static var fileBounds: (image: Int64, audio: Int64, file: Int64, unasked: Int64) {
        (
            Transfers.sizeMax(ofType: "image/"), Transfers.sizeMax(ofType: "audio/"), Transfers.sizeMax(ofType: ""),
            ClientLimits.fileUnaskedBytesMax
        )
    }

    /// Begins a file for `attachment_send`.
    /// - Throws: `.noIdentity`, `.suspended`, `.closed`, `.tooLarge`, `.tooMany`, `.file`.
    package func takeFile(bytes: Int64) async throws(CoreError) -> ComingFile {
        let files = try self.opened().profile.files
        do throws(FileError) { return ComingFile(id: try await files.begin(bytes: bytes), files: files) } catch {
            throw CoreError(of: error)
        }
    }

    /// The file of a message, which the core keeps.
    /// - Parameter author: `nil` for a message of ours.
    /// - Throws: `.noIdentity`, `.suspended`, `.closed`, `.notFound`, `.file`, `.store`.
    package func keptFile(of id: UUIDText, from author: WhisperID?) async throws(CoreError) -> PlainFile {
        let opened = try self.opened()
        do {
            return try await opened.with { try await $0.transfers.plain(of: id, from: author, $0) }
        } catch {
            throw self.described(error)
        }
    }
}

/// A file that comes by pieces, and is sealed as it comes.
package struct ComingFile: Sendable {
    package static let pieceBytes = SecretboxPieces.pieceBytes

    package let id: UUIDText
    fileprivate let files: TransferFiles

    /// - Parameter piece: of `pieceBytes`, but for the last one.
    package func add(_ piece: [UInt8]) async throws { try await self.files.add(piece, to: self.id) }
    /// - Throws: if it is not whole, or cannot be written.
    package func finish() async throws { try await self.files.finish(self.id) }
    package func drop() async { await self.files.drop(self.id) }
}

/// The object that opens a file.
private enum FileKey {
    static let key = TypedField.base64("key", 32...32)
    static let nonce = TypedField.base64("nonce", Limits.nonce)
    static let schema = ObjectSchema([Self.key.field, Self.nonce.field])
}
