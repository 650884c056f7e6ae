/// Where the objects of one bucket are.
package struct S3Address: Sendable {
    /// Where the bucket's name stands (Amazon S3 User Guide, "Virtual hosting of buckets").
    package enum Style: String, CaseIterable, Sendable {
        /// `https://host/bucket/key`.
        case path
        /// `https://bucket.host/key`.
        case virtual
    }

    package let isTLS: Bool
    /// To connect to.
    package let hostName: String
    package let port: Int
    package let bucket: String
    package let style: Style

    /// - Parameter endpoint: `http://` or `https://`, a host, and a port if it is not the scheme's own.
    /// - Returns: nil if it is anything else.
    package init?(endpoint: String, bucket: String, style: Style) {
        guard let mark = endpoint.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let scheme = endpoint[..<mark].lowercased()
        var rest = endpoint[mark...]
        guard ["http", "https"].contains(scheme), rest.hasPrefix("://") else { return nil }
        rest = rest.dropFirst(3)
        if rest.hasSuffix("/") { rest = rest.dropLast() }
        let isTLS = scheme == "https"
        var port = isTLS ? 443 : 80
        var host = rest
        if !rest.hasSuffix("]"), let colon = rest.lastIndex(of: ":") {
            guard let number = Int(rest[rest.index(after: colon)...]), (1...65_535).contains(number) else { return nil }
            port = number
            host = rest[..<colon]
        }
        guard !host.isEmpty, !bucket.isEmpty, !host.contains(where: { "/?#@ ".contains($0) }) else { return nil }
        self.isTLS = isTLS
        self.hostName = String(host)
        self.port = port
        self.bucket = bucket
        self.style = style
    }

    package var scheme: String { self.isTLS ? "https://" : "http://" }

    /// The value of `Host`.
    package var host: String {
        let name = self.style == .virtual ? "\(self.bucket).\(self.hostName)" : self.hostName
        return self.port == (self.isTLS ? 443 : 80) ? name : "\(name):\(self.port)"
    }

    /// - Parameter key: empty for the bucket itself.
    package func path(of key: String) -> String {
        switch self.style {
        case .path: key.isEmpty ? "/\(self.bucket)" : "/\(self.bucket)/\(key)"
        case .virtual: "/\(key)"
        }
    }
}
