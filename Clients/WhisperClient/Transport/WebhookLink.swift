package import Contract
import NIOCore
import NIOHTTP1

/// The way to a program of the user's that takes events by HTTP.
package struct WebhookLink: Sendable {
    private let url: FileURL
    private let network: NetworkLink
    private let key: [UInt8]

    /// - Parameters:
    ///   - url: as `isAllowed` has it.
    ///   - key: signs what is sent.
    ///   - authorityFile: PEM certificates trusted beside those of the system.
    /// - Throws: `.unreachable` if it is no such URL, or that file cannot be read.
    package init(_ url: String, key: [UInt8], authorityFile: String? = nil) throws(LinkError) {
        guard Self.isAllowed(url), let url = FileURL(url) else { throw .unreachable("no address of a webhook") }
        self.url = url
        self.network = try NetworkLink(url.server, authorityFile: authorityFile)
        self.key = key
    }

    /// `https`, or `http` to this machine: what is sent is not sealed.
    package static func isAllowed(_ url: String) -> Bool {
        guard let parts = FileURL(url) else { return false }
        let scheme = url.prefix { $0 != ":" }.lowercased()
        return scheme == "https" || scheme == "http" && Self.loopback.contains(parts.server.host)
    }

    private static let loopback: Set = ["127.0.0.1", "::1", "localhost"]

    /// Sends one event.
    /// - Returns: whether the program has taken it: the status is 2xx.
    package func post(_ event: [UInt8], at time: Timestamp) async -> Bool {
        var head = HTTPRequestHead(version: .http1_1, method: .POST, uri: self.url.path)
        head.headers = [
            "host": self.url.authority, "connection": "close", "content-type": "application/json",
            "content-length": "\(event.count)", "whisper-time": "\(time.milliseconds)",
            "whisper-signature": Self.signature(of: event, at: time, key: self.key),
        ]
        let request = head
        do {
            let answer = try await self.network.connect(to: self.url.server) { channel in
                try channel.pipeline.syncOperations.addHTTPClientHandlers()
                let answer = channel.eventLoop.makePromise(of: HTTPAnswer.self)
                try channel.pipeline.syncOperations.addHandler(
                    HTTPExchange(request: request, content: event, answer: answer))
                return answer.futureResult
            }
            return (200..<300).contains(try await answer.get().status)
        } catch {
            return false
        }
    }

    /// HMAC-SHA256 of the time in milliseconds, a dot and the event, in hexadecimal digits.
    package static func signature(of event: [UInt8], at time: Timestamp, key: [UInt8]) -> String {
        Hexadecimal.text(Sodium.hmacSHA256(key: key, Array("\(time.milliseconds).".utf8) + event))
    }
}

/// A secret that a program shows with each request.
package struct BearerToken: Sendable {
    private let token: [UInt8]

    package init(_ token: [UInt8]) { self.token = token }

    /// - Parameter header: `Authorization`.
    package func isShown(in header: String?) -> Bool {
        guard let header, header.prefix(7).lowercased() == "bearer " else { return false }
        return Sodium.areEqual(Array(header.dropFirst(7).utf8), self.token)
    }
}
