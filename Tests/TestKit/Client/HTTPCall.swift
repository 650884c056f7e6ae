import Foundation
import Synchronization

/// HTTP/1.1 to loopback, byte for byte as a test wants it: bodies of any bytes, headers as written, and connections that break.
package struct HTTPCall: Sendable {
    package struct Answer: Sendable {
        package var status: Int
        /// Names in lower case.
        package var headers: [String: String]
        package var body: [UInt8]

        package var json: JSON { (try? JSON(parsing: self.body)) ?? .null }

        /// Whether it is this error, in the body that contract §1 asks for.
        package func `is`(_ status: Int, _ code: String) -> Bool {
            self.status == status && self.json["error"]?.string == code && self.json["message"]?.string != nil
        }
    }

    package var method: String
    package var port: Int
    package var host: String
    /// Path and query.
    package var target: String
    package var headers: [String: String]
    package var body: [UInt8]
    /// Bytes of the body after which the connection is closed; all of it is sent when nil.
    package var breakingAfter: Int?
    /// Seconds that the peer may be silent.
    package var patience = 20

    /// - Parameter url: `http://` and a port; whatever host it names is taken for this machine.
    package init(_ method: String, _ url: String, headers: [String: String] = [:], body: [UInt8] = []) {
        let rest = url.hasPrefix("http://") ? url.dropFirst(7) : url[...]
        let slash = rest.firstIndex(of: "/") ?? rest.endIndex
        self.method = method
        self.host = String(rest[..<slash])
        self.port = self.host.split(separator: ":").last.flatMap { Int($0) } ?? 80
        self.target = slash == rest.endIndex ? "/" : String(rest[slash...])
        self.headers = headers
        self.body = body
    }

    package struct Failed: Error, CustomStringConvertible {
        package var description: String
    }

    /// - Throws: `Failed` if no whole answer comes.
    package func answer() async throws -> Answer {
        try await withCheckedThrowingContinuation { continuation in
            // Blocks; not on the threads that run Swift's tasks.
            DispatchQueue.global().async { continuation.resume(with: Result { try self.blockingAnswer() }) }
        }
    }

    /// Opens a connection, sends the head and so many bytes of the body, and leaves it at that.
    package func stalled(after bytes: Int) throws -> OpenConnection {
        let socket = try self.connected()
        try Self.send(self.head, on: socket)
        try Self.send(Array(self.body.prefix(bytes)), on: socket)
        return OpenConnection(socket: socket)
    }

    private var head: [UInt8] {
        var text = "\(self.method) \(self.target) HTTP/1.1\r\nHost: \(self.host)\r\nConnection: close\r\n"
        for (name, value) in self.headers { text += "\(name): \(value)\r\n" }
        let names = self.headers.keys.map { $0.lowercased() }
        if !names.contains("content-length"), !names.contains("transfer-encoding"), !self.body.isEmpty || self.method == "PUT" {
            text += "Content-Length: \(self.body.count)\r\n"
        }
        return Array((text + "\r\n").utf8)
    }

    private func connected() throws -> Int32 {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(self.port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var time = timeval(tv_sec: self.patience, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(socket, SOL_SOCKET, option, &time, socklen_t(MemoryLayout<timeval>.size))
        }
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else {
            close(socket)
            throw Failed(description: "nobody listens at port \(self.port)")
        }
        return socket
    }

    private static func send(_ bytes: [UInt8], on socket: Int32) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { throw Failed(description: "the peer stopped taking the request") }
            rest = rest.dropFirst(count)
        }
    }

    private func blockingAnswer() throws -> Answer {
        let socket = try self.connected()
        defer { close(socket) }
        try Self.send(self.head, on: socket)
        // A peer that refuses need not read the body; what it said still counts.
        try? Self.send(Array(self.body.prefix(self.breakingAfter ?? self.body.count)), on: socket)
        if self.breakingAfter != nil { throw Failed(description: "broken off, as asked") }
        var received: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        // Not every server closes a connection that it was asked to close.
        var whole: Int?
        while received.count < whole ?? .max {
            let count = recv(socket, &buffer, buffer.count, 0)
            if count <= 0 { break }
            received += buffer[..<count]
            if whole == nil, self.method != "HEAD" { whole = Self.count(ofAnswer: received) }
        }
        return try Self.parse(received, isHead: self.method == "HEAD")
    }

    /// Bytes of a whole answer, as its head says; nil while the head does not.
    private static func count(ofAnswer received: [UInt8]) -> Int? {
        let mark = Array("\r\n\r\n".utf8)
        guard let end = received.indices.first(where: { received[$0...].starts(with: mark) }) else { return nil }
        let head = String(decoding: received[..<end], as: UTF8.self)
        guard let length = head.firstMatch(of: #/(?i)\r\ncontent-length: *(\d+)/#).flatMap({ Int($0.1) }),
            !head.contains(#/^HTTP\S* 1/#)
        else { return nil }
        return end + mark.count + length
    }

    private static func parse(_ received: [UInt8], isHead: Bool) throws -> Answer {
        var rest = received[...]
        while true {
            let mark = Array("\r\n\r\n".utf8)
            guard let end = rest.indices.first(where: { rest[$0...].starts(with: mark) }) else {
                throw Failed(description: "no answer: \(String(decoding: rest.prefix(200), as: UTF8.self))")
            }
            let lines = String(decoding: rest[..<end], as: UTF8.self).split(separator: "\r\n")
            rest = rest[(end + 4)...]
            guard let status = lines.first?.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else {
                throw Failed(description: "no HTTP: \(lines.first ?? "")")
            }
            if status < 200 { continue }
            var headers: [String: String] = [:]
            for line in lines.dropFirst() {
                guard let colon = line.firstIndex(of: ":") else { continue }
                headers[line[..<colon].lowercased()] = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
            }
            let length = headers["content-length"].flatMap { Int($0) }
            guard isHead || length == nil || rest.count == length else {
                throw Failed(description: "the answer broke off after \(rest.count) of \(length ?? 0) bytes")
            }
            return Answer(status: status, headers: headers, body: Array(rest))
        }
    }
}

/// A connection that a test keeps open.
package final class OpenConnection: Sendable {
    private let socket: Int32

    fileprivate init(socket: Int32) { self.socket = socket }

    deinit { close(self.socket) }

    /// Returns when the peer has closed it.
    /// - Returns: false if it does not within the patience of the call.
    package func isClosedByPeer() async -> Bool {
        await withCheckedContinuation { continuation in
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
