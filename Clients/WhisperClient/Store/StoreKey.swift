import CSealedFile
import Glibc
import Synchronization

/// The host's secret for a sealed store: the key itself, or a passphrase that becomes one.
package final class StoreKey: Sendable {
    package enum Kind: Sendable { case raw, passphrase }

    package static let rawBytes = Int(SEALED_FILE_KEY_BYTES)
    package static let passphraseBytes = 1...1_024

    private struct Derived {
        var salt: [UInt8]
        var key: SecretBytes
    }

    private let kind: Kind
    private let secret: SecretBytes
    /// Key of the last file: deriving takes a fifth of a second.
    private let derived = Mutex<Derived?>(nil)

    /// - Returns: `nil` unless a raw key has `rawBytes`, and a passphrase `passphraseBytes`.
    package init?(_ kind: Kind, _ bytes: [UInt8]) {
        guard kind == .raw ? bytes.count == Self.rawBytes : Self.passphraseBytes.contains(bytes.count) else {
            return nil
        }
        self.kind = kind
        self.secret = SecretBytes(bytes)
    }

    /// Whether the host gave these bytes.
    package func isMade(of bytes: [UInt8]) -> Bool { Sodium.areEqual(self.secret.bytes, bytes) }

    /// - Returns: the kind of key that the sealed file at a path has; `nil` if it is no sealed file.
    static func kind(ofFile path: String) -> Kind? {
        var derivation = sealed_file_derivation()
        guard sealed_file_read_derivation(path, &derivation) == SEALED_FILE_OPENS else { return nil }
        return derivation.kind == SEALED_FILE_PASSPHRASE.rawValue ? .passphrase : .raw
    }

    /// Compares the key with the file, before a page is read. Without a file it makes ready for a new one.
    /// - Throws: `.wrongKey`, `.notADatabase`, `.tooNew`, `.failed`.
    func unlock(_ path: String) throws(ClientStoreError) -> UnlockedFile {
        guard UnlockedFile.isReady else { throw .failed("the file system of sealed files cannot be used") }
        var derivation = sealed_file_derivation()
        let state = sealed_file_read_derivation(path, &derivation)
        let wanted = self.kind == .raw ? SEALED_FILE_RAW : SEALED_FILE_PASSPHRASE
        switch state {
        case SEALED_FILE_OPENS:
            guard derivation.kind == wanted.rawValue else { throw .wrongKey }
        case SEALED_FILE_MISSING:
            if self.kind == .passphrase { sealed_file_new_derivation(&derivation) }
        case SEALED_FILE_FOREIGN: throw .notADatabase
        case SEALED_FILE_TOO_NEW: throw .tooNew
        default: throw .failed("the file cannot be read")
        }
        let key = try self.key(&derivation)
        if state == SEALED_FILE_OPENS, sealed_file_check(path, key.bytes) != SEALED_FILE_OPENS { throw .wrongKey }
        let handle = sealed_file_add_key(key.bytes, &derivation)
        guard handle != 0 else { throw .failed("too many keys are in use") }
        return UnlockedFile(handle: handle)
    }

    private func key(_ derivation: inout sealed_file_derivation) throws(ClientStoreError) -> SecretBytes {
        guard self.kind == .passphrase else { return self.secret }
        let salt = withUnsafeBytes(of: &derivation) { Array($0) }
        if let known = self.derived.withLock({ $0 }), known.salt == salt { return known.key }
        var bytes = [UInt8](repeating: 0, count: Self.rawBytes)
        defer { Sodium.erase(&bytes) }
        guard sealed_file_derive(self.secret.bytes, self.secret.bytes.count, &derivation, &bytes) == 0 else {
            throw .failed("the passphrase cannot be used: no memory, or a damaged file")
        }
        let key = SecretBytes(bytes)
        self.derived.withLock { $0 = Derived(salt: salt, key: key) }
        return key
    }
}

/// A key that SQLite knows by a number, as long as this lives.
final class UnlockedFile: Sendable {
    static let isReady = sealed_file_register() == 0

    private let handle: UInt32

    fileprivate init(handle: UInt32) { self.handle = handle }

    deinit { sealed_file_remove_key(self.handle) }

    /// The name of a file that the key seals. The key itself is in no name.
    func uri(_ path: String) -> String {
        let plain = path.utf8.map { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "."), UInt8(ascii: "-"),
                UInt8(ascii: "_"):
                String(UnicodeScalar(byte))
            default: "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
            }
        }.joined()
        // Behind two slashes stands the host, which is empty.
        return "file:" + (path.hasPrefix("/") ? "//" : "") + plain + "?vfs=\(SEALED_FILE_VFS)&k=\(self.handle)"
    }

    enum Content: Equatable {
        case nothing, empty, plain, sealed, foreign
        /// The text says why.
        case unusable(String)
    }

    /// Content of the file at a path. A sealed file may be of a later release.
    static func content(_ path: String) -> Content {
        var status = stat()
        guard stat(path, &status) == 0 else {
            return errno == ENOENT ? .nothing : .unusable(String(cString: strerror(errno)))
        }
        guard status.st_mode & S_IFMT == S_IFREG else { return .unusable("it is no file") }
        guard status.st_size > 0 else { return .empty }
        guard access(path, R_OK) == 0 else { return .unusable(String(cString: strerror(errno))) }
        var derivation = sealed_file_derivation()
        switch sealed_file_read_derivation(path, &derivation) {
        case SEALED_FILE_OPENS, SEALED_FILE_TOO_NEW: return .sealed
        default: return StoreFiles.begins(path, with: "SQLite format 3\0") ? .plain : .foreign
        }
    }

    static func isSealed(_ path: String) -> Bool { Self.content(path) == .sealed }
}
