package import Hummingbird

/// The cookie that a session of the console lives in (RFC 6265bis).
package enum ConsoleCookie {
    package static let name = "whisper_console"
    package static let path = "/console"

    /// - Parameters:
    ///   - value: empty to take the cookie away.
    ///   - life: in seconds; 0 to take it away.
    ///   - host: what the browser calls this server.
    package static func made(_ value: String, life: Int, for host: String?) -> Cookie {
        Cookie(
            name: self.name, value: value, maxAge: life, path: self.path, secure: !self.isLoopback(host), httpOnly: true,
            sameSite: .strict)
    }

    /// Whether a request went no further than the browser's own machine: only there may a cookie go without TLS.
    package static func isLoopback(_ host: String?) -> Bool {
        guard let host else { return false }
        let name = host.firstIndex(of: "]").map { host[...$0] } ?? host.prefix { $0 != ":" }
        return ["127.0.0.1", "localhost", "[::1]"].contains(name)
    }
}
