import Glibc
package import ServerCrypto

/// The file of a key or a service account, read once at the start.
package enum KeyFile {
    /// - Returns: nil if it cannot be read, or is longer than `PushLimits.keyFileBytesMax`.
    package static func read(_ path: String) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4_096)
        while true {
            let count = Glibc.read(descriptor, &chunk, chunk.count)
            if count == 0 { return bytes }
            guard count > 0, bytes.count + count <= PushLimits.keyFileBytesMax else { return nil }
            bytes += chunk[..<count]
        }
    }

    /// A private key on P-256, in PEM.
    package static func signingKey(_ path: String) -> P256PrivateKey? {
        self.read(path).flatMap { String(validating: $0, as: UTF8.self) }.flatMap { P256PrivateKey(pem: $0) }
    }
}
