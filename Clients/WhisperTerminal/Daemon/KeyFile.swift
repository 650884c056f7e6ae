import TerminalText
import WhisperClient

/// A file with the key of a sealed store: bytes that only their owner may read.
enum KeyFile {
    /// - Throws: a `Problem` if others may read it, or it holds no key.
    static func read(_ path: String) throws -> [UInt8] {
        let key = try SecretFile.read(path, for: "key", bytesMax: StoreKey.rawBytes)
        guard key.count == StoreKey.rawBytes else {
            throw Problem("The key file \(path) has not \(StoreKey.rawBytes) bytes.")
        }
        return key
    }
}
