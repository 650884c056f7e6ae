package import Hummingbird

/// The cookie that holds a session of the console (RFC 6265bis).
package enum ConsoleCookie {
    package static let name = "whisper_console"
    package static let path = "/console"

    /// - Parameters:
    ///   - value: empty to remove the cookie.
    ///   - life: in seconds; 0 to remove the cookie.
    ///   - host: this server, as the browser names it.
    package static func made(_ value: String, life: Int, for host: String?) -> Cookie {
        Cookie(
            name: self.name, value: value, maxAge: life, path: self.path, secure: !self.isLoopback(host),
            httpOnly: true,
            sameSite: .strict)
    }

    /// Whether the browser runs on this machine. Only there may a cookie travel without TLS.
    package static func isLoopback(_ host: String?) -> Bool {
        guard let host else { return false }
        let name = host.firstIndex(of: "]").map { host[...$0] } ?? host.prefix { $0 != ":" }
        return ["127.0.0.1", "localhost", "[::1]"].contains(name)
    }
}
