import Foundation

/// One question to a server on loopback, one answer; a connection each. Enough to ask whether it is ready.
package enum LoopbackRequest {
    /// Longest wait for one answer, in seconds.
    private static let timeout = 10

    /// The answer of the server at `port` to `text`, up to the end of the connection or until `isWhole`. Nil if the
    /// server cannot be reached or does not answer in time.
    static func answer(
        from port: Int, to text: String, isWhole: @escaping @Sendable (String) -> Bool
    ) async -> String? {
        await withCheckedContinuation { continuation in
            // The calls below block; not on the threads that run Swift's tasks.
            DispatchQueue.global().async {
                continuation.resume(returning: self.blockingAnswer(from: port, to: text, isWhole: isWhole))
            }
        }
    }

    /// `GET path` with HTTP/1.1. Nil when nobody answers.
    package static func get(
        _ path: String, port: Int, headers: [String: String] = [:]
    ) async -> (status: Int, body: String)? {
        await self.http("GET", path, port: port, headers: headers)
    }

    package static func http(
        _ method: String, _ path: String, port: Int, headers: [String: String] = [:], body: String = ""
    ) async -> (status: Int, body: String)? {
        var head = "\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
        for (name, value) in headers { head += "\(name): \(value)\r\n" }
        if !body.isEmpty { head += "Content-Length: \(body.utf8.count)\r\n" }
        guard let answer = await self.answer(from: port, to: head + "\r\n" + body, isWhole: { _ in false }) else {
            return nil
        }
        let parts = answer.split(separator: " ", maxSplits: 2)
        guard parts.count >= 2, let status = Int(parts[1].prefix(3)) else { return nil }
        let end = answer.range(of: "\r\n\r\n")?.upperBound ?? answer.endIndex
        return (status, String(answer[end...]))
    }

    private static func blockingAnswer(from port: Int, to text: String, isWhole: (String) -> Bool) -> String? {
        let socket = loopbackSocket()
        defer { close(socket) }
        var time = timeval(tv_sec: self.timeout, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(socket, SOL_SOCKET, option, &time, socklen_t(MemoryLayout<timeval>.size))
        }
        guard withLoopbackAddress(port: port, { connect(socket, $0, $1) == 0 }) else { return nil }
        let question = Array(text.utf8)
        guard send(socket, question, question.count, Int32(MSG_NOSIGNAL)) == question.count else { return nil }
        var received: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = recv(socket, &buffer, buffer.count, 0)
            guard count >= 0 else { return nil }
            received += buffer[..<count]
            let text = String(decoding: received, as: UTF8.self)
            if count == 0 || isWhole(text) { return text.isEmpty ? nil : text }
        }
    }
}
