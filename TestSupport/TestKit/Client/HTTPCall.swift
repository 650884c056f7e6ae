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

        /// - Throws: `Failed`, for another status.
        @discardableResult package func expecting(_ status: Int) throws -> Answer {
            guard self.status == status else {
                throw Failed(description: "\(self.status): \(String(decoding: self.body.prefix(500), as: UTF8.self))")
            }
            return self
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
    package var timeout = 20
    /// The client's own address, of 127.0.0.0/8; limits count by it.
    package var from: String?

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
    /// - Parameter receiveBuffer: bytes that the kernel takes for a client that does not read.
    package func stalled(after bytes: Int, receiveBuffer: Int? = nil) throws -> OpenConnection {
        let connection = try OpenConnection(
            to: self.port, from: self.from, receiveBuffer: receiveBuffer, timeout: self.timeout)
        try connection.send(self.head)
        try connection.send(Array(self.body.prefix(bytes)))
        return connection
    }

    private var head: [UInt8] {
        var text = "\(self.method) \(self.target) HTTP/1.1\r\nHost: \(self.host)\r\nConnection: close\r\n"
        for (name, value) in self.headers { text += "\(name): \(value)\r\n" }
        let names = self.headers.keys.map { $0.lowercased() }
        if !names.contains("content-length"), !names.contains("transfer-encoding"),
            !self.body.isEmpty || self.method == "PUT"
        {
            text += "Content-Length: \(self.body.count)\r\n"
        }
        return Array((text + "\r\n").utf8)
    }

    private func blockingAnswer() throws -> Answer {
        let connection = try OpenConnection(to: self.port, from: self.from, timeout: self.timeout)
        try connection.send(self.head)
        // A peer that refuses need not read the body; what it said still counts.
        try? connection.send(Array(self.body.prefix(self.breakingAfter ?? self.body.count)))
        if self.breakingAfter != nil { throw Failed(description: "broken off, as asked") }
        var received: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        // Not every server closes a connection that it was asked to close.
        var whole: Int?
        while received.count < whole ?? .max {
            let count = recv(connection.socket, &buffer, buffer.count, 0)
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
                headers[line[..<colon].lowercased()] = line[line.index(after: colon)...].trimmingCharacters(
                    in: .whitespaces)
            }
            let length = headers["content-length"].flatMap { Int($0) }
            guard isHead || length == nil || rest.count == length else {
                throw Failed(description: "the answer broke off after \(rest.count) of \(length ?? 0) bytes")
            }
            return Answer(status: status, headers: headers, body: Array(rest))
        }
    }
}
