/// Where a server listens: `ws://host:port` or `wss://host:port`.
package struct ServerAddress: Hashable, Sendable {
    package let host: String
    package let port: Int
    package let isSecure: Bool

    package static let local = ServerAddress("ws://127.0.0.1:8080")!

    /// Takes `ws`, `wss`, `http` and `https`, with or without port; a path is ignored, because the contract fixes it.
    package init?(_ text: String) {
        guard let schemeEnd = text.firstRange(of: "://") else { return nil }
        switch text[..<schemeEnd.lowerBound].lowercased() {
        case "ws", "http": self.isSecure = false
        case "wss", "https": self.isSecure = true
        default: return nil
        }
        let authority = text[schemeEnd.upperBound...].prefix { $0 != "/" && $0 != "?" }
        var host = authority
        var port = self.isSecure ? 443 : 80
        if let colon = authority.lastIndex(of: ":"), !authority.hasSuffix("]") {
            guard let number = Int(authority[authority.index(after: colon)...]), (1...65_535).contains(number) else {
                return nil
            }
            port = number
            host = authority[..<colon]
        }
        if host.hasPrefix("[") && host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        // Links are shown inside of commands: no sign of a host means anything to a shell.
        let isHost = host.allSatisfy { $0.isLetter || $0.isNumber || ".-_:%".contains($0) }
        guard !host.isEmpty, isHost else { return nil }
        self.host = String(host)
        self.port = port
    }

    /// The `Host` header.
    package var authority: String {
        let host = self.host.contains(":") ? "[\(self.host)]" : self.host
        return self.port == (self.isSecure ? 443 : 80) ? host : "\(host):\(self.port)"
    }

    /// As a link names it: the port is left out if it is that of `https`.
    package var hostAndPort: String {
        self.isSecure
            ? self.authority
            : ServerAddress("https://\(self.host.contains(":") ? "[\(self.host)]" : self.host):\(self.port)")!.authority
    }

    /// Whether both are one place, with TLS or without.
    package func isSamePlace(as other: ServerAddress) -> Bool {
        self.host.lowercased() == other.host.lowercased() && self.port == other.port
    }

    /// Origin of the server's pages, for links: `https://host`.
    package var origin: String { "\(self.isSecure ? "https" : "http")://\(self.authority)" }
}

extension ServerAddress: CustomStringConvertible {
    package var description: String { "\(self.isSecure ? "wss" : "ws")://\(self.authority)" }
}
