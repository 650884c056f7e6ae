import Foundation

/// A TCP connection to loopback on which nothing is said but what a test says.
package final class OpenConnection: Sendable {
    let socket: Int32

    /// - Parameters:
    ///   - address: the client's own, of 127.0.0.0/8; limits count by it.
    ///   - receiveBuffer: bytes that the kernel takes for a client that does not read.
    ///   - timeout: seconds that the peer may be silent.
    /// - Throws: `HTTPCall.Failed` if nobody takes the connection.
    package init(
        to port: Int, from address: String? = nil, receiveBuffer: Int? = nil, timeout: Int = 20
    ) throws(HTTPCall.Failed) {
        self.socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var time = timeval(tv_sec: timeout, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(self.socket, SOL_SOCKET, option, &time, socklen_t(MemoryLayout<timeval>.size))
        }
        if var bytes = receiveBuffer.map(Int32.init) {
            setsockopt(self.socket, SOL_SOCKET, SO_RCVBUF, &bytes, socklen_t(MemoryLayout<Int32>.size))
        }
        if let address { _ = Self.with(address, 0) { bind(self.socket, $0, $1) } }
        guard Self.with("127.0.0.1", port, { connect(self.socket, $0, $1) }) == 0 else {
            throw HTTPCall.Failed(description: "nobody listens at port \(port): \(String(cString: strerror(errno)))")
        }
    }

    deinit { close(self.socket) }

    private static func with(
        _ address: String, _ port: Int, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_port = UInt16(port).bigEndian
        name.sin_addr.s_addr = inet_addr(address)
        return withUnsafePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        }
    }

    /// - Throws: `HTTPCall.Failed` if the peer takes no more.
    package func send(_ bytes: [UInt8]) throws(HTTPCall.Failed) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(self.socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { throw HTTPCall.Failed(description: "the peer stopped taking the request") }
            rest = rest.dropFirst(count)
        }
    }

    /// Whether the peer has ended it by now, and whether it has said something. Neither takes anything, or waits.
    package var hasEnded: Bool {
        let count = self.peek()
        return count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)
    }
    package var hasReceived: Bool { self.peek() > 0 }

    private func peek() -> Int {
        var byte: UInt8 = 0
        return recv(self.socket, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
    }

    /// The status of the answer, of which nothing is read; nil if none comes within the timeout of the call.
    package func status() async -> Int? {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                // "HTTP/1.1 200"
                var line = [UInt8](repeating: 0, count: 12)
                let count = recv(self.socket, &line, line.count, Int32(MSG_PEEK) | Int32(MSG_WAITALL))
                let word = String(decoding: line.prefix(max(0, count)), as: UTF8.self).split(separator: " ").last
                continuation.resume(returning: word.flatMap { Int($0) })
            }
        }
    }

    /// Reads until the peer has closed it, or is silent for the timeout of the call.
    /// - Returns: how many bytes came.
    package func rest() async -> Int {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                var (buffer, sum) = ([UInt8](repeating: 0, count: 65_536), 0)
                while true {
                    let count = recv(self.socket, &buffer, buffer.count, 0)
                    guard count > 0 else { return continuation.resume(returning: sum) }
                    sum += count
                }
            }
        }
    }

    /// Returns when the peer has closed it.
    /// - Returns: false if it does not within the timeout of the call.
    package func isClosedByPeer() async -> Bool {
        await withCheckedContinuation { continuation in
            // Blocks; not on the threads that run Swift's tasks.
            DispatchQueue.global().async {
                var buffer = [UInt8](repeating: 0, count: 65_536)
                while true {
                    let count = recv(self.socket, &buffer, buffer.count, 0)
                    if count == 0 || (count < 0 && errno == ECONNRESET) { return continuation.resume(returning: true) }
                    if count < 0 { return continuation.resume(returning: false) }
                }
            }
        }
    }
}
