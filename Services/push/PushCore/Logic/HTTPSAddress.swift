/// An `https` address in the parts that a request needs.
package struct HTTPSAddress: Hashable, Sendable {
    package let host: String
    package let port: Int
    /// Begins with a slash; with its query.
    package let path: String

    /// - Returns: nil if it is no such address: another scheme, a user, a fragment, or characters that do not belong.
    package init?(_ text: some StringProtocol) {
        let scheme = "https://"
        guard text.utf8.count <= 2_048, text.lowercased().hasPrefix(scheme) else { return nil }
        let rest = text.dropFirst(scheme.count)
        // Visible ASCII alone; what would end a header or begin a fragment is not among it.
        guard rest.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), !rest.contains("#") else { return nil }
        let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
        let authority = rest[..<end]
        guard !authority.contains("@"), !authority.contains("["), !authority.contains("\\") else { return nil }
        let parts = authority.split(separator: ":", omittingEmptySubsequences: false)
        guard let host = parts.first, !host.isEmpty, host.utf8.count <= 253, parts.count <= 2,
            host.utf8.allSatisfy({ byte in
                UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20
                    || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
            })
        else { return nil }
        if parts.count == 2 {
            guard let port = Int(parts[1]), (1...65_535).contains(port), parts[1].first != "+" else { return nil }
            self.port = port
        } else {
            self.port = 443
        }
        self.host = host.lowercased()
        let path = rest[end...]
        self.path = path.hasPrefix("/") ? String(path) : "/" + path
    }

    /// Scheme, host, and port if it is another than 443 (RFC 6454 §6.2).
    package var origin: String { "https://\(self.host)\(self.port == 443 ? "" : ":\(self.port)")" }

    package var text: String { self.origin + self.path }
}
