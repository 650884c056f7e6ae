import Glibc

/// A file that holds one secret and nothing else, as container runtimes and systemd (`LoadCredential=`) hand them over.
struct SecretFile {
    let path: String

    /// Bytes of the largest secret taken from a file. A conninfo string or a signing key is far below.
    static let bytesMax = 64 * 1_024

    /// The text without line ends at its end; nil if there is none, or more than `bytesMax`.
    var contents: String? {
        let descriptor = open(self.path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4_096)
        while true {
            let count = read(descriptor, &chunk, chunk.count)
            guard count >= 0 else { return nil }
            if count == 0 { break }
            bytes.append(contentsOf: chunk[..<count])
            guard bytes.count <= Self.bytesMax else { return nil }
        }
        while let last = bytes.last, last == UInt8(ascii: "\n") || last == UInt8(ascii: "\r") { bytes.removeLast() }
        guard !bytes.isEmpty else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }
}
