package import Telemetry

/// Where a listener listens.
package struct ListenAddress: Sendable, Equatable {
    package var host: String
    /// 0 lets the kernel choose.
    package var port: Int

    package init(host: String, port: Int) {
        self.host = host
        self.port = port
    }
}

/// Where Redis is.
package struct RedisSettings: Sendable {
    package var host: String
    package var port: Int
    /// The ACL user of this service; the server's `default` user when nil.
    package var user: String?
    package var password: Secret?
    /// PEM file with the authority of the server's certificate. TLS is spoken if it is given.
    package var authorityFile: String?
}

// Keys that several services read, each written once. A service asks for those it needs.
extension Settings {
    private static let ports = 1...65_535

    private static let instances = 1...9_999

    /// - instance (int, default 1, 1...9999, or `host`): number of this process among those of its service. `host` makes
    ///   one from the machine's name: a container that is one of many has a name of its own and nobody to number it. Two
    ///   may get the same number, which costs nothing but clearness: it names log lines and database sessions.
    package func instance() throws(SettingsError) -> Int {
        if try self.string("instance", default: "1") == "host" {
            return Self.number(ofHost: HostName.current, in: Self.instances)
        }
        return try self.int("instance", in: Self.instances, default: 1)
    }

    /// FNV-1a (Fowler, Noll, Vo; 64 bits), folded into the range: the same name has the same number in every process.
    static func number(ofHost name: String, in range: ClosedRange<Int>) -> Int {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in name.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return range.lowerBound + Int(hash % UInt64(range.count))
    }

    /// - ops.host (default 127.0.0.1), ops.port (int, required): the listener for operators; never public.
    package func opsAddress() throws(SettingsError) -> ListenAddress {
        ListenAddress(
            host: try self.string("ops.host", default: "127.0.0.1"), port: try self.int("ops.port", in: Self.ports))
    }

    /// - http.host (default 127.0.0.1), http.port (int, required): the public listener.
    package func httpAddress() throws(SettingsError) -> ListenAddress {
        ListenAddress(
            host: try self.string("http.host", default: "127.0.0.1"), port: try self.int("http.port", in: Self.ports))
    }

    /// - redis.host (default 127.0.0.1), redis.port (int, default 6379).
    /// - redis.user (optional), redis.password (secret, optional): the ACL user. A user without a password is refused.
    /// - redis.tls.authority (path, optional): PEM file with the authority that vouches for Redis; turns TLS on.
    package func redis() throws(SettingsError) -> RedisSettings {
        let user = self.optionalString("redis.user")
        let password = try self.optionalSecret("redis.password")
        if user != nil, password == nil { throw .missing(key: "redis.password") }
        return RedisSettings(
            host: try self.string("redis.host", default: "127.0.0.1"),
            port: try self.int("redis.port", in: Self.ports, default: 6_379), user: user, password: password,
            authorityFile: self.optionalString("redis.tls.authority"))
    }

    /// - postgres.url (secret, required): a libpq conninfo string or URI with the role of this service. TLS is asked for
    ///   in it: `sslmode=verify-full sslrootcert=…`.
    /// - postgres.password (secret, optional): added to it, so that the address need not be a secret.
    package func postgres() throws(SettingsError) -> Secret {
        let url = try self.secret("postgres.url")
        guard let password = try self.optionalSecret("postgres.password") else { return url }
        return ConnectionString(url.revealed).with(password: password)
    }

    /// - rate.limit.scale (double, default 1, 0.001...1000000): multiplies every rate limit.
    package func rateLimitScale() throws(SettingsError) -> Double {
        try self.double("rate.limit.scale", in: 0.001...1_000_000, default: 1)
    }

    /// - trusted.proxies (comma list, default empty): addresses whose X-Forwarded-For is believed.
    package func trustedProxies() -> [String] {
        self.list("trusted.proxies")
    }
}
