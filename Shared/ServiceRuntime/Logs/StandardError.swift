import Glibc

package enum StandardError {
    /// Writes a whole line. Lines of several threads do not mix: each is one `write`, and the kernel keeps those apart
    /// (for a pipe, up to its `PIPE_BUF`).
    package static let write: @Sendable ([UInt8]) -> Void = { line in
        var rest = line[...]
        while !rest.isEmpty {
            let written = rest.withUnsafeBytes { Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
            if written < 0 {
                if errno == EINTR { continue }
                return  // Nobody reads; there is no better place to say so.
            }
            rest = rest.dropFirst(written)
        }
    }
}
