import Glibc

/// Asks the process beside this one whether it is ready: `whisper-gateway ready`, for the health check of a container
/// that holds nothing but the executable.
struct ReadinessProbe {
    let address: ListenAddress

    /// Time to connect, and again to hear the answer.
    private static let timeout = timeval(tv_sec: 3, tv_usec: 0)

    /// Whether `GET /ready` is answered with 200.
    func isReady() -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var timeout = Self.timeout
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(descriptor, SOL_SOCKET, option, &timeout, socklen_t(MemoryLayout<timeval>.size))
        }
        guard self.connect(descriptor) else { return false }
        let request = Array("GET /ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8)
        guard write(descriptor, request, request.count) == request.count else { return false }
        let expected = Array("HTTP/1.1 200".utf8)
        var answer: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 256)
        while answer.count < expected.count {
            let count = read(descriptor, &chunk, chunk.count)
            guard count > 0 else { return false }
            answer.append(contentsOf: chunk[..<count])
        }
        return answer.starts(with: expected)
    }

    private func connect(_ descriptor: Int32) -> Bool {
        // A listener on all addresses is asked at 127.0.0.1; an address that is no IPv4 address is not known here.
        let host = ["0.0.0.0", "::", "localhost"].contains(self.address.host) ? "127.0.0.1" : self.address.host
        var place = sockaddr_in()
        place.sin_family = sa_family_t(AF_INET)
        place.sin_port = in_port_t(self.address.port).bigEndian
        guard inet_pton(AF_INET, host, &place.sin_addr) == 1 else { return false }
        return withUnsafePointer(to: &place) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }
}
