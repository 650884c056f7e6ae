import Glibc
import Testing

@testable import WhisperTerminal

/// A write to somebody who has gone is an error, and not the end of the process: `whisper` does so, too.
enum BrokenPipes {
    static func areErrors() { signal(SIGPIPE, SIG_IGN) }
}

/// The client's end of a connection to a port of this machine, which blocks.
struct LoopbackSocket: Sendable {
    let descriptor: Int32

    static func connected(_ port: Int) throws -> LoopbackSocket {
        BrokenPipes.areErrors()
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        try #require(result == 0)
        return LoopbackSocket(descriptor: descriptor)
    }

    /// - Parameter hosts: values of the header `Host`.
    func send(_ start: String, _ headers: [String], _ body: String, hosts: [String] = ["localhost"]) {
        let length = body.isEmpty ? [] : ["Content-Length: \(body.utf8.count)"]
        let lines = ["\(start) HTTP/1.1"] + hosts.map { "Host: \($0)" } + headers + length + ["", body]
        DaemonSession.write(Array(lines.joined(separator: "\r\n").utf8), to: self.descriptor)
    }

    /// Reads until the text has the part so often, or to its end.
    /// - Parameter atOnce: bytes of one read. With more than one, bytes behind the text may be read with it.
    func read(until part: String? = nil, times: Int = 1, atOnce: Int = 4_096) -> String {
        var text: [UInt8] = []
        var bytes = [UInt8](repeating: 0, count: atOnce)
        while case let count = Glibc.read(self.descriptor, &bytes, bytes.count), count > 0 {
            text += bytes[..<count]
            if let part, String(decoding: text, as: UTF8.self).ranges(of: part).count >= times { break }
        }
        return String(decoding: text, as: UTF8.self)
    }

    func exchange(_ start: String, _ headers: [String], _ body: String) -> String {
        defer { Glibc.close(self.descriptor) }
        self.send(start, headers, body)
        return self.read()
    }
}
