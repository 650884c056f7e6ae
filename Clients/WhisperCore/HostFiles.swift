import Contract
import WhisperClient

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

/// The object that opens a file.
private enum FileKey {
    static let key = TypedField.base64("key", 32...32)
    static let nonce = TypedField.base64("nonce", Limits.nonce)
    static let schema = ObjectSchema([Self.key.field, Self.nonce.field])
}
