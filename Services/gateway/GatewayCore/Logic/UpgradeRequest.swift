import Contract
package import NIOCore

/// The HTTP request that opens a connection: a WebSocket upgrade, a look at mail, or a health check. No bodies, one request
/// a connection; everything else of HTTP is the load balancer's business.
package struct UpgradeRequest: Equatable, Sendable {
    package var method: String
    package var path: String
    /// The part behind `?`, as it was sent.
    package var query: String
    /// HTTP/1.0, otherwise HTTP/1.1.
    package var isOldHTTP: Bool
    /// Names in lower case; a name given twice keeps both values, joined by a comma (RFC 9110 §5.3).
    package var headers: [String: String]

    /// The whole head, in bytes.
    package static let bytesMax = 8_192
    /// Length of a decoded `Sec-WebSocket-Key`, in bytes (RFC 6455 §4.2.1).
    private static let keyBytes = 16

    package enum Malformed: Error { case malformed, tooLong }

    /// Takes a complete head off `buffer`; `nil` until it is complete.
    package static func parse(_ buffer: inout ByteBuffer) throws(Malformed) -> UpgradeRequest? {
        let view = buffer.readableBytesView
        guard let end = Self.endOfHead(view) else {
            if view.count > Self.bytesMax { throw .tooLong }
            return nil
        }
        guard end <= Self.bytesMax else { throw .tooLong }
        let text = String(decoding: view.prefix(end), as: UTF8.self)
        let isClean = Self.hasNoControls(view.prefix(end))
        buffer.moveReaderIndex(forwardBy: end)
        guard isClean else { throw .malformed }
        var lines = text.split(separator: "\r\n", omittingEmptySubsequences: true)[...]
        guard let start = lines.popFirst() else { throw .malformed }
        let words = start.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 3, !words[0].isEmpty, let (path, query) = Self.place(of: words[1]),
            words[2].wholeMatch(of: /HTTP\/1\.[0-9]/) != nil
        else { throw .malformed }
        let isOld = words[2] == "HTTP/1.0"
        var headers: [String: String] = [:]
        for line in lines {
            guard let colon = line.firstIndex(of: ":"), colon != line.startIndex else { throw .malformed }
            let name = line[..<colon].lowercased()
            guard !name.contains(where: { $0 == " " || $0 == "\t" }) else { throw .malformed }
            let value = line[line.index(after: colon)...].trimmed
            headers[name] = headers[name].map { "\($0), \(value)" } ?? value
        }
        // One host, and no more (RFC 9112 §3.2).
        guard headers["host"].map({ $0.wholeMatch(of: /[A-Za-z0-9._~%:\[\]!$&'()*+;=-]*/) != nil }) ?? isOld else {
            throw .malformed
        }
        return UpgradeRequest(method: String(words[0]), path: path, query: query, isOldHTTP: isOld, headers: headers)
    }

    /// The path and the query of a target in origin form or in absolute form (RFC 9112 §3.2.1, §3.2.2).
    private static func place(of target: Substring) -> (path: String, query: String)? {
        var rest = target
        if let scheme = target.prefixMatch(of: /https?:\/\/[^\/?]+/.ignoresCase()) {
            rest = target[scheme.range.upperBound...]
            if !rest.hasPrefix("/") { rest = "/" + rest }
        }
        guard rest.hasPrefix("/") else { return nil }
        let path = rest.prefix { $0 != "?" }
        return (String(path), String(rest.dropFirst(path.count + 1)))
    }

    /// CR and LF end lines, together, and HTAB may stand in values. Everything else of their kind is refused (RFC 9112 §2.2,
    /// RFC 9110 §5.5): another server on the way might read another request.
    private static func hasNoControls(_ head: ByteBufferView) -> Bool {
        var previous: UInt8 = 0
        for byte in head {
            switch byte {
            case 0x0A: if previous != 0x0D { return false }
            case 0x09, 0x0D, 0x20...0x7E, 0x80...: if previous == 0x0D { return false }
            default: return false
            }
            previous = byte
        }
        return true
    }

    private static func endOfHead(_ view: ByteBufferView) -> Int? {
        var matched = 0
        let pattern: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A]
        for (offset, byte) in view.enumerated() {
            if byte == pattern[matched] {
                matched += 1
                if matched == 4 { return offset + 1 }
            } else {
                matched = byte == 0x0D ? 1 : 0
            }
        }
        return nil
    }

    /// The request's purpose, by its method, path and headers.
    package enum Purpose: Equatable, Sendable {
        /// The value of `Sec-WebSocket-Key`.
        case webSocket(key: String)
        case health
        case ready
        /// `GET /mail`.
        case mail(limit: Int, bytes: Int)
        /// The same with a parameter that is out of its range, or stands there twice.
        case badParameter
        /// A WebSocket was asked for at the right place in the wrong way.
        case badUpgrade
        /// The same, of another version of the protocol (RFC 6455 §4.4).
        case otherVersion
        case unknown
    }

    package var purpose: Purpose {
        switch (self.method, self.path) {
        case ("GET", "/ws"):
            // HTTP/1.0 knows no upgrade (RFC 6455 §4.2.1).
            // A body would be read as the client's first frames.
            guard !self.isOldHTTP, !self.hasBody, let key = self.headers["sec-websocket-key"],
                Base64.decode(key)?.count == Self.keyBytes, let version = self.headers["sec-websocket-version"],
                self.has("websocket", in: "upgrade"), self.has("upgrade", in: "connection")
            else { return .badUpgrade }
            return version == "13" ? .webSocket(key: key) : .otherVersion
        case ("GET", "/health"): return .health
        case ("GET", "/ready"): return .ready
        case ("GET", "/mail"):
            guard let limit = self.number("limit", in: Limits.mailPeekMessages),
                let bytes = self.number("bytes", in: Limits.mailPeekBytes)
            else { return .badParameter }
            return .mail(limit: limit, bytes: bytes)
        default: return .unknown
        }
    }

    /// A parameter of the query; the greatest number that it may be if it is absent.
    /// - Returns: `nil` for a bad one.
    private func number(_ name: String, in range: ClosedRange<Int64>) -> Int? {
        let values = self.query.split(separator: "&").filter { $0 == name || $0.hasPrefix("\(name)=") }
        guard let value = values.first else { return Int(range.upperBound) }
        guard values.count == 1, let number = Int64(value.dropFirst(name.count + 1)), range.contains(number) else {
            return nil
        }
        return Int(number)
    }

    /// The token of `Authorization: Bearer {token}`; the scheme's case does not matter (RFC 9110 §11.1).
    package var bearerToken: [UInt8]? {
        guard let parts = self.headers["authorization"]?.split(separator: " ", maxSplits: 1), parts.count == 2,
            parts[0].lowercased() == "bearer"
        else { return nil }
        return Array(parts[1].trimmed.utf8)
    }

    private var hasBody: Bool {
        self.headers["transfer-encoding"] != nil || self.headers["content-length"].map { $0 != "0" } ?? false
    }

    private func has(_ word: String, in header: String) -> Bool {
        self.headers[header]?.lowercased().split(separator: ",").contains { $0.trimmed == word } ?? false
    }
}

extension Substring {
    fileprivate var trimmed: String {
        var text = self
        while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        return String(text)
    }
}
