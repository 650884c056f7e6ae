import Glibc
import TerminalText
import WhisperClient

/// A file with the key of a sealed store: bytes that only their owner may read.
enum KeyFile {
    /// - Throws: a `Problem` if others may read it, or it holds no key.
    static func read(_ path: String) throws -> [UInt8] {
        // Opening a pipe would wait for its writer.
        let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw Problem("Cannot read the key file \(path): \(String(cString: strerror(errno))).")
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(),
            status.st_mode & 0o077 == 0
        else { throw Problem("The key file \(path) must be a file of yours with mode 0600.") }
        // One more, to see whether it ends there.
        var key = [UInt8](repeating: 0, count: StoreKey.rawBytes + 1)
        guard Glibc.read(descriptor, &key, key.count) == StoreKey.rawBytes else {
            throw Problem("The key file \(path) has not \(StoreKey.rawBytes) bytes.")
        }
        key.removeLast()
        return key
    }
}
