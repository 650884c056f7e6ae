import Contract
import Glibc
import TerminalText
import WhisperClient

/// A file with one secret that only its owner may read.
enum SecretFile {
    /// Characters of a token.
    static let tokenCharacters = 32...256

    /// A line of printable ASCII: what `openssl rand -hex 32` writes, for example.
    /// - Parameter name: what it is for, for people.
    /// - Throws: a `Problem` if others may read it, or it holds something else.
    static func token(_ path: String, for name: String) throws -> [UInt8] {
        var token = try Self.read(path, for: name, bytesMax: Self.tokenCharacters.upperBound + 1)
        if token.last == 0x0A { token.removeLast() }
        guard Self.tokenCharacters.contains(token.count), token.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw Problem(
                "The \(name) file \(path) must be one line of \(Self.tokenCharacters.lowerBound) to "
                    + "\(Self.tokenCharacters.upperBound) characters, without spaces.")
        }
        return token
    }

    /// Makes a file of mode 0600, whole or not at all. One of this name is replaced.
    /// - Throws: a `Problem` if it cannot be written.
    static func write(_ bytes: [UInt8], to path: String) throws {
        let partial = try Self.partial(bytes, of: path)
        guard rename(partial, path) == 0 else { throw Self.problem(path, removing: partial) }
    }

    /// Makes a file of mode 0600, whole or not at all.
    /// - Returns: `false` if one of this name is there already. It stays.
    /// - Throws: a `Problem` if it cannot be written.
    static func make(_ bytes: [UInt8], at path: String) throws -> Bool {
        let partial = try Self.partial(bytes, of: path)
        guard link(partial, path) == 0 else {
            if errno == EEXIST {
                unlink(partial)
                return false
            }
            throw Self.problem(path, removing: partial)
        }
        unlink(partial)
        return true
    }

    private static func partial(_ bytes: [UInt8], of path: String) throws -> String {
        let partial = path + "." + Hexadecimal.text(Sodium.random(8)) + ".part"
        let descriptor = open(partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Self.problem(path) }
        let isWritten = DaemonSession.write(bytes, to: descriptor) && fsync(descriptor) == 0
        guard isWritten else {
            let problem = Self.problem(path, removing: partial)
            close(descriptor)
            throw problem
        }
        close(descriptor)
        return partial
    }

    private static func problem(_ path: String, removing partial: String? = nil) -> Problem {
        let why = String(cString: strerror(errno))
        if let partial { unlink(partial) }
        return Problem("Cannot write \(path): \(why).")
    }

    /// - Parameter bytesMax: one byte more is read, to see whether it ends there.
    static func read(_ path: String, for name: String, bytesMax: Int) throws -> [UInt8] {
        // Opening a pipe would wait for its writer.
        let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw Problem("Cannot read the \(name) file \(path): \(String(cString: strerror(errno))).")
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(),
            status.st_mode & 0o077 == 0
        else { throw Problem("The \(name) file \(path) must be a file of yours with mode 0600.") }
        var bytes = [UInt8](repeating: 0, count: bytesMax + 1)
        let count = Glibc.read(descriptor, &bytes, bytes.count)
        return Array(bytes.prefix(max(count, 0)))
    }
}
