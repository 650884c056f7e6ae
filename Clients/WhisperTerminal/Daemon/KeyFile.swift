import FoundationEssentials
import Glibc
import TerminalText
import WhisperClient

/// A file with the key of a sealed store: bytes that only their owner may read.
enum KeyFile {
    /// - Throws: a `Problem` if others may read it, or it holds no key.
    static func read(_ path: String) throws -> [UInt8] {
        let key = try SecretFile.read(path, for: "key", bytesMax: StoreKey.rawBytes)
        // A power cut while a key was erased leaves zeros.
        guard key.count == StoreKey.rawBytes, key.contains(where: { $0 != 0 }) else {
            throw Problem("The key file \(path) holds no key of \(StoreKey.rawBytes) bytes.")
        }
        return key
    }

    // MARK: Beside the store

    private static func kept(in folder: String) -> String { folder + "/" + Profile.keyName }

    /// The key that stands beside the store of a profile, if that store is sealed.
    /// - Returns: `nil` if there is none: then the store is plain, or its key is elsewhere.
    static func beside(_ folder: String) throws -> [UInt8]? {
        guard Profile.isSealed(folder), Profile.keyKind(of: folder) != .passphrase, self.isThere(folder) else {
            return nil
        }
        return try self.read(self.kept(in: folder))
    }

    static func isThere(_ folder: String) -> Bool { Profile.hasKey(in: folder) }

    /// Makes the key of a profile that is yet to be made, in its folder. One that is there already is taken.
    static func make(in folder: String) throws -> [UInt8] {
        let path = self.kept(in: folder)
        if self.isThere(folder) {
            if let key = try? self.read(path) { return key }
            // The rest of a key that was erased opens nothing.
            guard !Profile.isSealed(folder) || Profile.keyKind(of: folder) == .passphrase else {
                return try self.read(path)
            }
            try Profile.eraseKey(in: folder)
        }
        do {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw Problem("Cannot make the folder \(folder).")
        }
        let key = Sodium.random(StoreKey.rawBytes)
        // Another command may make one at the same time: both take the one that is there first.
        return try SecretFile.make(key, at: path) ? key : try self.read(path)
    }
}
